//! Which Python a server needs.

/// `>=3.9,<3.13`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Constraint {
    bounds: Vec<(String, Vec<u32>)>,
}

impl Constraint {
    /// Reads a constraint; all its parts must hold.
    pub(crate) fn parse(text: &str) -> Result<Constraint, String> {
        let mut bounds = Vec::new();
        for part in text.split(',').map(str::trim) {
            let operator = [">=", "<=", "==", "<", ">"].into_iter().find(|o| part.starts_with(o));
            let version = operator.and_then(|o| version(part[o.len()..].trim()));
            let (Some(operator), Some(version)) = (operator, version) else {
                return Err(format!(
                    "python = {text:?} is not understood: write \">=3.9\" or \">=3.9,<3.13\"."
                ));
            };
            bounds.push((operator.to_owned(), version));
        }
        Ok(Constraint { bounds })
    }

    pub(crate) fn allows(&self, text: &str) -> bool {
        let Some(version) = version(text) else { return false };
        self.bounds.iter().all(|(operator, bound)| {
            // As far as the bound says: 3.9.18 is 3.9, and not above it.
            let version = &version[..version.len().min(bound.len())];
            match operator.as_str() {
                ">=" => version >= bound,
                "<=" => version <= bound,
                "==" => version == bound,
                "<" => version < bound,
                _ => version > bound,
            }
        })
    }
}

fn version(text: &str) -> Option<Vec<u32>> {
    let parts: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    parts.filter(|parts| !parts.is_empty() && parts.len() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_constraint_allows_exactly_its_versions() {
        let allows = |text: &str, v: &str| Constraint::parse(text).unwrap().allows(v);
        assert!(allows(">=3.9", "3.9.18") && allows(">=3.9", "3.13.0") && !allows(">=3.9", "3.8.18"));
        assert!(allows("<3.10", "3.9.18") && !allows("<3.10", "3.10.0"));
        assert!(allows(">=3.9,<3.13", "3.12.1") && !allows(">=3.9, <3.13", "3.13.0"));
        assert!(allows("==3.11", "3.11.7") && !allows(">3.11", "3.11.7") && allows("<=3.11", "3.11.7"));
        assert!(!allows(">=3.9", "3.x") && !Constraint::default().allows(""), "no version at all");
        for wrong in ["3.9", ">=", ">=3.x", "~=3.9", "", ">=3.9,"] {
            assert!(Constraint::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
