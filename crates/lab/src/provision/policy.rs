//! `/usr/sbin/policy-rc.d`: Debian's switch by which packages are told not to start services.
//!
//! dpkg's scripts ask it before each start; 101 means no. It is put there for the length
//! of an installation and taken away afterwards. One that somebody else put there is asked
//! what it says, and set aside only if it would let services start.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use super::apt::Root;
use super::tool::not_written;
use crate::programs::capture;

const POLICY: &str = "/usr/sbin/policy-rc.d";
const SET_ASIDE: &str = "/usr/sbin/policy-rc.d.before-prony";
/// By which ours is known, should it have been left behind by a loss of power.
const MARK: &str = "# Put here by prony while it installs packages; remove it if no prony is running.";
const FORBIDDEN: i32 = 101;

/// While it lives, no package starts a service.
pub(super) struct Policy<'a> {
    access: &'a Root,
    ours: bool,
}

impl Policy<'_> {
    /// Puts the switch in place.
    pub(super) fn forbid(access: &Root) -> Result<Policy<'_>, String> {
        let left_behind = fs::read_to_string(POLICY).is_ok_and(|text| text.contains(MARK));
        if !left_behind && Path::new(POLICY).exists() {
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
        let written = write!(script, "#!/bin/sh\n{MARK}\nexit {FORBIDDEN}\n");
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

fn forbids() -> bool {
    let argv = [POLICY, "prony-probe", "start"].map(String::from);
    let answer = capture(&argv, Path::new("/"), &[], Duration::from_secs(5));
    answer.and_then(|a| a.code) == Some(FORBIDDEN)
}
