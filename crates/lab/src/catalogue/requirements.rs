//! The Python packages of a recipe as pip reads them, with the hashes of its lock.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Beside server.toml: each pin with the hashes of all its files, in the form of pip's own requirements.
pub(crate) const REQUIREMENTS_LOCK: &str = "requirements.lock";
/// What packages are built with that come as sources only: pip would fetch its own, of whatever content.
const BUILDERS: [&str; 2] = ["setuptools==", "wheel=="];

pub(crate) fn requirements(pins: &[String], lock: Option<&str>) -> Result<Vec<String>, String> {
    let Some(lock) = lock else { return Ok(pins.to_vec()) };
    let line = |pin: &String| {
        let hashes = hashes(lock, pin);
        if hashes.is_empty() {
            return Err(format!("{REQUIREMENTS_LOCK} has no hashes of {pin}: add those of all its files."));
        }
        Ok(format!("{pin} {}", hashes.join(" ")))
    };
    pins.iter().map(line).collect()
}

pub(crate) fn lock_in(folder: &Path) -> Result<Option<String>, String> {
    let path = folder.join(REQUIREMENTS_LOCK);
    match fs::read_to_string(&path) {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|why| format!("{} cannot be read: {why}.", path.display())),
    }
}

/// Whether a line is one of those that are installed before the others, which are then built with them.
pub(crate) fn is_builder(line: &str) -> bool {
    BUILDERS.iter().any(|begin| line.starts_with(begin))
}

fn hashes<'a>(lock: &'a str, pin: &str) -> Vec<&'a str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '.'], "-");
    // Behind a semicolon stands for which Pythons it is.
    let wanted = plain(pin.split(';').next().unwrap_or_default().trim());
    let lines = lock.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(str::split_whitespace).filter(|word| *word != "\\");
    let behind = words.skip_while(|word| plain(word.trim_end_matches(';')) != wanted).skip(1);
    let is_hash = |word: &&str| word.starts_with("--hash=");
    behind.skip_while(|word| !is_hash(word) && !word.contains("==")).take_while(is_hash).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKED: &str = "# by a tool\nflask==3.1.3 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n\
        importlib-metadata==8.7.1 ; python_version < \"3.10\" --hash=sha256:cc\nbare==1\nwheel==1 --hash=sha256:dd\n";

    fn pins(pins: &[&str]) -> Vec<String> {
        pins.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_pin_gets_its_locked_hashes_and_one_without_is_refused() {
        let wanted = pins(&["Flask==3.1.3", "importlib_metadata==8.7.1; python_version<'3.10'"]);
        let lines = requirements(&wanted, Some(LOCKED)).unwrap();
        assert_eq!(
            lines,
            [
                "Flask==3.1.3 --hash=sha256:aa --hash=sha256:bb",
                "importlib_metadata==8.7.1; python_version<'3.10' --hash=sha256:cc",
            ]
        );
        for other in ["Flask==3.1.4", "metadata==8.7.1", "bare==1"] {
            let why = requirements(&pins(&[other]), Some(LOCKED)).unwrap_err();
            assert_eq!(
                why,
                format!("requirements.lock has no hashes of {other}: add those of all its files.")
            );
        }
        assert_eq!(requirements(&wanted, None).unwrap(), wanted);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(lock_in(dir.path()), Ok(None));
        fs::write(dir.path().join(REQUIREMENTS_LOCK), b"\xff").unwrap();
        assert!(lock_in(dir.path()).unwrap_err().contains("requirements.lock cannot be read"));
        assert!(is_builder("wheel==1 --hash=sha256:dd") && !is_builder("wheels==1"));
    }
}
