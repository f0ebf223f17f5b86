//! Python packages, by pip: with their hashes, where the recipe has a lock.

const INSTALL: [&str; 5] = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
const CHECKED: &str = "--require-hashes";
/// A package that comes as sources runs code of its own while it is installed, and pip fetches what that needs unchecked.
const WHEELS: &str = "--only-binary=:all:";

/// What Python is told, one command after the other, to install the requirements of a file; `builders` is the file of
/// those that come first, if there are any. Of what is locked nothing is installed or built that the lock does not name.
pub(super) fn commands<'a>(file: &'a str, builders: Option<&'a str>, locked: bool) -> Vec<Vec<&'a str>> {
    let command = |more: &[&'a str]| [&INSTALL[..], more].concat();
    match builders {
        _ if !locked => vec![command(&["-r", file])],
        None => vec![command(&[CHECKED, WHEELS, "-r", file])],
        Some(first) => vec![
            command(&[CHECKED, WHEELS, "-r", first]),
            command(&[CHECKED, "--no-build-isolation", "-r", file]),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_locked_is_installed_and_built_by_its_hashes_alone() {
        let begin = "-m pip install --disable-pip-version-check --no-input";
        let said = |builders, locked| {
            commands("r", builders, locked).iter().map(|c| c.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(said(None, true), [format!("{begin} --require-hashes --only-binary=:all: -r r")]);
        assert_eq!(
            said(Some("b"), true),
            [
                format!("{begin} --require-hashes --only-binary=:all: -r b"),
                format!("{begin} --require-hashes --no-build-isolation -r r"),
            ]
        );
        assert_eq!(said(None, false), [format!("{begin} -r r")]);
    }
}
