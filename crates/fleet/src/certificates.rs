//! What an agent reads on its own host, and the plan only names: a client's certificate and key, and lists of requests.

use std::io::Read;
use std::path::{Component, PathBuf};

use prony_model::{Plan, PlanError, foreign_file};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Certificates {
    #[default]
    None,
    /// Any that it can: it runs as the user by whom its controller started it.
    Any,
    /// Those in this folder; paths are relative to it.
    In(PathBuf),
}

impl Certificates {
    pub(crate) fn give(&self, plan: &mut Plan) -> Result<(), PlanError> {
        let files = plan.tls.identity_files.as_ref();
        plan.tls.identity = files.map(|files| files.read(&|path, most| self.read(path, most))).transpose()?;
        Ok(())
    }

    /// Reads the list that is too long for the plan: of a folder the file of the same name.
    pub(crate) fn give_list(&self, plan: &mut Plan) -> Result<(), PlanError> {
        let named = plan.work.list().and_then(|list| Some(list.file.as_ref()?.path.clone()));
        let Some(path) = named.filter(|_| plan.awaits_list()) else { return Ok(()) };
        let path = match (self, path.file_name()) {
            (Certificates::Any, _) => path,
            (Certificates::In(folder), Some(name)) => folder.join(name),
            _ => {
                return Err(PlanError(format!(
                    "The list {} is too long for a plan, and this agent reads none: start it with --lists DIR, where the \
                     same file is.",
                    path.display()
                )));
            }
        };
        plan.read_list(&path)
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        let path = match self {
            Certificates::None => return Err("this agent reads none (--allow-cert)".to_owned()),
            Certificates::Any => PathBuf::from(path),
            Certificates::In(folder) => {
                // An absolute path takes the folder's place.
                let path = folder.join(path);
                let inside = path.strip_prefix(folder).ok();
                if !inside.is_some_and(|rest| rest.components().all(|part| part != Component::ParentDir)) {
                    return Err(format!(
                        "this agent reads those in {} alone (--allow-cert)",
                        folder.display()
                    ));
                }
                path
            }
        };
        let mut bytes = Vec::new();
        let read = foreign_file::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_reads_regular_files_where_it_may_and_no_others() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("certs");
        std::fs::create_dir_all(folder.join("a")).unwrap();
        for path in [folder.join("a/key.pem"), outer.path().join("secret")] {
            std::fs::write(path, "abc").unwrap();
        }
        let at = |name: &str| outer.path().join(name).display().to_string();
        let within = Certificates::In(folder.clone());
        for path in ["a/key.pem", "./a/key.pem", &at("certs/a/key.pem")] {
            assert_eq!(within.read(path, 2), Ok(b"ab".to_vec()), "{path}");
        }
        for path in
            ["../secret", "a/../../secret", &at("secret"), &at("certs/../secret"), "/etc/passwd", "../none"]
        {
            assert!(within.read(path, 9).unwrap_err().contains("alone (--allow-cert)"), "{path}");
        }
        assert!(within.read("none", 9).unwrap_err().contains("No such file"));
        assert_eq!(Certificates::Any.read(&at("secret"), 9), Ok(b"abc".to_vec()));
        assert!(Certificates::Any.read("/dev/zero", 9).unwrap_err().contains("not a regular file"));
        assert!(Certificates::Any.read(&at("certs"), 9).unwrap_err().contains("directory"));
        assert!(Certificates::None.read(&at("secret"), 9).unwrap_err().contains("reads none"));
    }
}
