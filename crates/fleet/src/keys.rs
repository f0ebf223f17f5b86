//! The keys of a pool of agents, in two files: the controller's, and the one that all its agents have.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::session::{Side, new_key};

const FILE_MAX_BYTES: u64 = 4096;

/// One side's file: its own key, and the other side's public one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    /// `controller` or `agent`.
    prony_fleet_key: String,
    /// PKCS#8, in hexadecimal.
    private: String,
    peer: String,
}

#[derive(Clone)]
pub struct Keys {
    pub private: Vec<u8>,
    pub peer: Vec<u8>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("peer", &hex(&self.peer)).finish_non_exhaustive()
    }
}

/// Makes the keys of a pool: files of this user alone, which are not there yet.
pub fn make(controller: &Path, agent: &Path) -> Result<(), String> {
    let (of_controller, of_agent) = (new_key()?, new_key()?);
    for (path, side, private, peer) in [
        (controller, Side::Controller, &of_controller.0, &of_agent.1),
        (agent, Side::Agent, &of_agent.0, &of_controller.1),
    ] {
        let file =
            KeyFile { prony_fleet_key: side.name().to_owned(), private: hex(private), peer: hex(peer) };
        let text = serde_json::to_string_pretty(&file).map_err(|e| e.to_string())? + "\n";
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        written
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| format!("{} cannot be written: {e}.", path.display()))?;
    }
    Ok(())
}

impl Keys {
    pub fn read(path: &Path, side: Side) -> Result<Keys, String> {
        let refused = |why: &str| {
            format!(
                "{} cannot be used as the key of a fleet's {}: {why}. `prony fleet key` makes both keys.",
                path.display(),
                side.name()
            )
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|e| refused(&e.to_string()))?;
        let metadata = file.metadata().map_err(|e| refused(&e.to_string()))?;
        // As ssh does: another owner's file is its owner's to guard, such as a secret that Kubernetes mounts.
        if metadata.uid() == rustix::process::getuid().as_raw() && metadata.mode() & 0o077 != 0 {
            let why = format!("others may read it (chmod 600 {})", path.display());
            return Err(refused(&why));
        }
        file.take(FILE_MAX_BYTES).read_to_string(&mut text).map_err(|e| refused(&e.to_string()))?;
        let file: KeyFile =
            serde_json::from_str(&text).map_err(|_| refused("it is not a key file of Prony"))?;
        if file.prony_fleet_key != side.name() {
            return Err(refused(&format!("it is the {}'s", side.other().name())));
        }
        let bytes = |text: &str| unhex(text).ok_or_else(|| refused("it is damaged"));
        Ok(Keys { private: bytes(&file.private)?, peer: bytes(&file.peer)? })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn each_side_has_its_own_file_and_knows_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (controller, agent) = (folder.path().join("c"), folder.path().join("a"));
        make(&controller, &agent).unwrap();
        for path in [&controller, &agent] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let of_controller = Keys::read(&controller, Side::Controller).unwrap();
        let of_agent = Keys::read(&agent, Side::Agent).unwrap();
        assert_eq!(crate::session::public_key(&of_controller.private).unwrap(), of_agent.peer);
        assert_eq!(crate::session::public_key(&of_agent.private).unwrap(), of_controller.peer);
        assert!(Keys::read(&agent, Side::Controller).unwrap_err().contains("it is the agent's"));
        assert!(make(&controller, &agent).unwrap_err().contains("exists"), "no key is overwritten");
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = Keys::read(&agent, Side::Agent).unwrap_err();
            assert!(refused.contains("others may read it (chmod 600 "), "{refused}");
        }
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o400)).unwrap();
        Keys::read(&agent, Side::Agent).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&agent, "{}").unwrap();
        assert!(Keys::read(&agent, Side::Agent).unwrap_err().contains("prony fleet key"));
    }
}
