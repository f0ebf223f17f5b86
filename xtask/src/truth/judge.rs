//! What is known, what was found, and what to say of the two: pure.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Nanoseconds, shown as milliseconds.
    Ns,
    PerS,
    Requests,
    /// A share, shown in percent.
    Share,
    /// 1 is yes, 0 is no.
    YesNo,
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Unit::Ns => format!("{:.2} ms", value / 1e6),
            Unit::PerS => format!("{value:.0}/s"),
            Unit::Requests => format!("{value:.0}"),
            Unit::Share => format!("{:+.2} %", value * 100.0),
            Unit::YesNo => if value > 0.5 { "yes" } else { "no" }.to_owned(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
    pub(crate) expected: f64,
    /// What is still the expected value, on a machine that is quiet: both ends belong to it.
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) found: Option<f64>,
}

impl Figure {
    /// One that may be off by this share to either side.
    pub(crate) fn about(name: &str, unit: Unit, expected: f64, share: f64, found: Option<f64>) -> Figure {
        Figure::between(name, unit, [expected * (1.0 - share), expected, expected * (1.0 + share)], found)
    }

    /// One that lies between the first and the last of these, and is expected to be the middle one.
    pub(crate) fn between(name: &str, unit: Unit, bounds: [f64; 3], found: Option<f64>) -> Figure {
        let [low, expected, high] = bounds;
        Figure { name: name.to_owned(), unit, expected, low, high, found }
    }

    pub(crate) fn yes(name: &str, found: Option<bool>) -> Figure {
        let found = found.map(|yes| if yes { 1.0 } else { 0.0 });
        Figure::between(name, Unit::YesNo, [1.0; 3], found)
    }

    /// How far what was found is off, as it is shown; of what is expected to be 0 and of shares the difference.
    pub(crate) fn deviation(&self) -> Option<String> {
        let found = self.found?;
        match self.unit {
            Unit::YesNo => None,
            Unit::Share => Some(format!("{:+.2} points", (found - self.expected) * 100.0)),
            _ if self.expected == 0.0 => Some(format!("+{}", self.unit.show(found))),
            _ => Some(format!("{:+.1} %", (found / self.expected - 1.0) * 100.0)),
        }
    }

    /// What to say of it on a machine that is as quiet as that.
    pub(crate) fn verdict(&self, quiet: bool) -> Verdict {
        match (quiet, self.found) {
            (false, _) => Verdict::TooNoisy,
            (true, Some(found)) if (self.low..=self.high).contains(&found) => Verdict::Within,
            (true, _) => Verdict::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Verdict {
    #[serde(rename = "within")]
    Within,
    #[serde(rename = "off")]
    Off,
    /// What else the machine did may have moved it: neither a right figure nor a wrong one says anything.
    #[serde(rename = "too noisy to tell")]
    TooNoisy,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Within => "within",
            Verdict::Off => "off",
            Verdict::TooNoisy => "too noisy to tell",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(found: Option<f64>) -> Figure {
        Figure::about("a rate", Unit::PerS, 8_000.0, 0.02, found)
    }

    #[test]
    fn on_a_quiet_machine_a_figure_is_within_its_bounds_or_off() {
        for found in [7_840.0, 8_000.0, 8_160.0] {
            assert_eq!(figure(Some(found)).verdict(true), Verdict::Within, "{found}");
        }
        for found in [Some(7_839.0), Some(8_161.0), Some(f64::NAN), None] {
            assert_eq!(figure(found).verdict(true), Verdict::Off, "{found:?}");
        }
    }

    #[test]
    fn on_a_noisy_machine_there_is_no_verdict() {
        for found in [Some(8_000.0), Some(1.0), None] {
            assert_eq!(figure(found).verdict(false), Verdict::TooNoisy, "{found:?}");
        }
    }

    #[test]
    fn deviations_are_relative_where_that_means_something() {
        let said = |unit, expected, found| {
            Figure::about("a figure", unit, expected, 0.1, Some(found)).deviation().unwrap()
        };
        assert_eq!(said(Unit::Ns, 2e6, 2.1e6), "+5.0 %");
        assert_eq!(said(Unit::PerS, 8_000.0, 7_960.0), "-0.5 %");
        assert_eq!(said(Unit::Ns, 0.0, 250_000.0), "+0.25 ms");
        assert_eq!(said(Unit::Share, -0.05, -0.0512), "-0.12 points");
        assert_eq!(Figure::yes("found", Some(false)).deviation(), None);
        assert_eq!(figure(None).deviation(), None);
    }

    #[test]
    fn an_answer_is_yes_or_no() {
        assert_eq!(Figure::yes("found", Some(true)).verdict(true), Verdict::Within);
        assert_eq!(Figure::yes("found", Some(false)).verdict(true), Verdict::Off);
        assert_eq!(Figure::yes("found", None).verdict(true), Verdict::Off);
        assert_eq!((Unit::YesNo.show(1.0), Unit::YesNo.show(0.0)), ("yes".to_owned(), "no".to_owned()));
    }
}
