//! `/usr/sbin/policy-rc.d`: Debian's switch by which packages are told not to start services.
//!
//! dpkg's scripts ask it before each start; 101 means no. It is put there for the length
//! of an installation and taken away afterwards. One that somebody else put there is asked
//! what it says, and set aside only if it would let services start. Ours forbids only while
//! the Prony that put it there lives: what SIGKILL or a loss of power leaves does no harm.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use prony_host::process::Identity;

use super::apt::Root;
use super::tool::not_written;
use crate::programs::capture;

const POLICY: &str = "/usr/sbin/policy-rc.d";
const SET_ASIDE: &str = "/usr/sbin/policy-rc.d.before-prony";
const MARK: &str = "# Put here by prony while it installs packages; remove it if no prony is running.";
const FORBIDDEN: i32 = 101;

pub(super) struct Policy<'a> {
    access: &'a Root,
    ours: bool,
}

impl Policy<'_> {
    pub(super) fn forbid(access: &Root) -> Result<Policy<'_>, String> {
        let owner = Identity::of(std::process::id()).ok_or("/proc cannot be read.")?;
        if !is_ours() && Path::new(POLICY).exists() {
            if forbids() {
                return Ok(Policy { access, ours: false });
            }
            access.run("mv", &["-f", POLICY, SET_ASIDE])?;
        }
        // From here on the guard puts back what was there, also if the next step fails.
        let policy = Policy { access, ours: true };
        let mut script = tempfile::Builder::new()
            .prefix("prony-policy-")
            .tempfile()
            .map_err(|e| format!("A temporary file cannot be written: {e}."))?;
        let written = script.write_all(script_of(owner).as_bytes());
        written.map_err(not_written(script.path()))?;
        access.run("install", &["-m", "755", &script.path().to_string_lossy(), POLICY])?;
        if !forbids() {
            return Err(format!("{POLICY} does not keep services from starting: nothing was installed."));
        }
        Ok(policy)
    }
}

impl Drop for Policy<'_> {
    fn drop(&mut self) {
        if !self.ours {
            return;
        }
        if Path::new(SET_ASIDE).exists() {
            self.access.quietly("mv", &["-f", SET_ASIDE, POLICY]);
        } else {
            self.access.quietly("rm", &["-f", POLICY]);
        }
    }
}

/// A sentence, where the switch of a Prony is there: after the end of an installation it could not be removed.
pub(super) fn left_behind() -> Option<String> {
    is_ours().then(|| {
        format!("{POLICY} could not be removed: it forbids nothing once this Prony has ended. Remove it.")
    })
}

fn is_ours() -> bool {
    fs::read_to_string(POLICY).is_ok_and(|text| text.contains(MARK))
}

/// The switch of this Prony. Left behind by one that has ended, it says so, and that what was set aside for it decides.
fn script_of(owner: Identity) -> String {
    let Identity { pid, start_ticks } = owner;
    // proc(5): behind the name, which stands in brackets, the start time is the twentieth field.
    format!(
        "#!/bin/sh\n{MARK}\n\
         started=$(sed 's/.*) //' /proc/{pid}/stat 2>/dev/null | cut -d ' ' -f 20)\n\
         [ \"$started\" = {start_ticks} ] && exit {FORBIDDEN}\n\
         echo \"$0 was left behind by a prony that has ended: it forbids nothing. Remove it.\" >&2\n\
         [ -x {SET_ASIDE} ] && exec {SET_ASIDE} \"$@\"\n\
         exit 0\n"
    )
}

fn forbids() -> bool {
    let argv = [POLICY, "prony-probe", "start"].map(String::from);
    let answer = capture(&argv, Path::new("/"), &[], Duration::from_secs(5));
    answer.and_then(|a| a.code) == Some(FORBIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_host::testing::PATIENCE;

    /// What a package that asks for the start of a service is told: the exit code, and the words.
    fn asked(script: &str) -> (Option<i32>, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("policy-rc.d");
        fs::write(&path, script).unwrap();
        let argv = ["sh", &path.to_string_lossy(), "nginx", "start"].map(String::from);
        let said = capture(&argv, Path::new("/"), &[], PATIENCE).unwrap();
        (said.code, String::from_utf8_lossy(&said.stderr).into_owned())
    }

    #[test]
    fn services_may_not_start_while_the_installing_prony_lives() {
        let me = Identity::of(std::process::id()).unwrap();
        assert_eq!(asked(&script_of(me)), (Some(FORBIDDEN), String::new()));
        // Somebody else has its number by now, or nobody has.
        let reused = Identity { start_ticks: me.start_ticks + 1, ..me };
        let nobody = Identity { pid: 4_194_305, ..me };
        if Path::new(SET_ASIDE).exists() {
            return eprintln!("not tested: {SET_ASIDE} is on this machine, and decides");
        }
        for gone in [reused, nobody] {
            let (code, words) = asked(&script_of(gone));
            assert_eq!(code, Some(0), "{words}");
            assert!(words.contains("was left behind by a prony that has ended"), "{words}");
        }
    }
}
