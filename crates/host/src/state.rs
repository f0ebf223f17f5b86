//! What Prony may believe of what it finds in a folder. What outlives a process and is acted on later is in one that
//! only the effective user may use, never in the current one, which may have come with an archive or a checkout.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

/// Names another folder than the user's usual one.
pub const VARIABLE: &str = "PRONY_STATE";

/// Of the effective user: `/run/prony` of root, `/run/user/UID/prony` of others, else `prony-UID` in the temporary
/// folder. It is no link, and nobody else may use it.
pub fn folder() -> Result<PathBuf, String> {
    let mut refused = String::new();
    for place in places(std::env::var_os(VARIABLE), geteuid().as_raw()) {
        match private(&place) {
            Ok(()) => return Ok(place),
            Err(why) => refused = why,
        }
    }
    Err(refused)
}

fn places(given: Option<OsString>, uid: u32) -> Vec<PathBuf> {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return vec![PathBuf::from(given)];
    }
    let run = if uid == 0 { "/run/prony".to_owned() } else { format!("/run/user/{uid}/prony") };
    vec![PathBuf::from(run), std::env::temp_dir().join(format!("prony-{uid}"))]
}

fn private(place: &Path) -> Result<(), String> {
    let (shown, uid) = (place.display(), geteuid().as_raw());
    if let Err(why) = DirBuilder::new().mode(0o700).create(place)
        && why.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(format!(
            "{shown}, where Prony records what it started, cannot be made: {why}. Name a folder of your own: \
             {VARIABLE}=DIR."
        ));
    }
    let is_private = |found: fs::Metadata| found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0;
    if fs::symlink_metadata(place).is_ok_and(is_private) {
        return Ok(());
    }
    Err(format!(
        "{shown}, where Prony records what it started, is not a folder that only user {uid} may use: somebody else may \
         have written to it. Remove it, or name a folder of your own: {VARIABLE}=DIR."
    ))
}

/// Whether what lies there may be run and believed: the folder is the effective user's, root's, or, for root, of sudo's
/// caller, and nobody else may write to it. So is a link to one. One that is not there may be made.
pub fn trusted(folder: &Path) -> Result<(), String> {
    trusted_by(folder, geteuid().as_raw(), sudo_user().map(|(user, _)| user))
}

pub fn sudo_user() -> Option<(u32, u32)> {
    let number = |name: &str| -> Option<u32> { std::env::var(name).ok()?.parse().ok() };
    of_sudo(geteuid().is_root(), number("SUDO_UID"), number("SUDO_GID"))
}

/// Nobody but root can act as another user, and what root started by sudo is root's own.
fn of_sudo(is_root: bool, user: Option<u32>, group: Option<u32>) -> Option<(u32, u32)> {
    let user = user.filter(|user| is_root && *user != 0)?;
    Some((user, group?))
}

fn trusted_by(folder: &Path, uid: u32, caller: Option<u32>) -> Result<(), String> {
    // Of a link both count: whoever made it chose where it leads.
    let Ok(link) = fs::symlink_metadata(folder) else { return Ok(()) };
    let found = fs::metadata(folder).unwrap_or_else(|_| link.clone());
    let shown = folder.display();
    let known = |owner: u32| owner == uid || owner == 0 || (uid == 0 && caller == Some(owner));
    if let Some(owner) = [link.uid(), found.uid()].into_iter().find(|owner| !known(*owner)) {
        return Err(format!("{shown} belongs to user {owner}, not to user {uid}"));
    }
    // A group of one's own is usual where new files may be written by their group.
    let others = if found.gid() == getegid().as_raw() { 0o002 } else { 0o022 };
    if found.mode() & others != 0 {
        return Err(format!("{shown} may be written by other users"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    const NOBODY: u32 = 65_534;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_state_folder_is_the_user_s_own_unless_one_is_given() {
        assert_eq!(places(None, 0)[0], Path::new("/run/prony"));
        let of_a_user = places(Some(OsString::new()), 1000);
        assert_eq!(of_a_user[0], Path::new("/run/user/1000/prony"));
        assert_eq!(of_a_user[1], std::env::temp_dir().join("prony-1000"));
        assert_eq!(places(Some("/srv/mine".into()), 0), [Path::new("/srv/mine")]);
    }

    #[test]
    fn a_state_folder_is_private_and_one_others_may_use_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("state");
        private(&place).unwrap();
        assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
        private(&place).unwrap();
        for mode in [0o755, 0o710, 0o777] {
            set_mode(&place, mode);
            let refused = private(&place).unwrap_err();
            assert!(refused.contains("is not a folder that only user"), "{refused}");
            assert!(refused.ends_with("PRONY_STATE=DIR."), "{refused}");
        }
        set_mode(&place, 0o700);
        let link = dir.path().join("link");
        symlink(&place, &link).unwrap();
        assert!(private(&link).is_err(), "a link is not followed");
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(private(&dir.path().join("file")).is_err());
        assert!(private(&dir.path().join("no/such")).unwrap_err().contains("cannot be made"));
        if !geteuid().is_root() {
            return eprintln!("not tested: only root can make a folder of another user's");
        }
        chown(&place, Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(private(&place).is_err(), "another user's");
    }

    #[test]
    fn only_root_can_have_been_started_by_another_user_s_sudo() {
        assert_eq!(of_sudo(true, Some(1000), Some(100)), Some((1000, 100)));
        assert_eq!(of_sudo(true, Some(0), Some(0)), None, "root by sudo is root");
        assert_eq!(of_sudo(true, None, None), None);
        assert_eq!(of_sudo(true, Some(1000), None), None);
        assert_eq!(of_sudo(false, Some(1000), Some(100)), None, "who is not root is themselves");
    }

    #[test]
    fn a_folder_is_trusted_by_its_owner_and_by_who_may_write_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let (own, uid) = (dir.path().join("own"), geteuid().as_raw());
        assert_eq!(trusted_by(&own, uid, None), Ok(()), "it is not there");
        fs::create_dir(&own).unwrap();
        set_mode(&own, 0o755);
        let is_trusted = |uid: u32, caller: Option<u32>| trusted_by(&own, uid, caller).is_ok();
        assert!(is_trusted(uid, None));
        set_mode(&own, 0o757);
        let refused = trusted_by(&own, uid, None).unwrap_err();
        assert!(refused.ends_with("own may be written by other users"), "{refused}");
        set_mode(&own, 0o755);
        let link = dir.path().join("link");
        symlink(&own, &link).unwrap();
        assert_eq!(trusted_by(&link, uid, None), Ok(()));
        // Root's is to be trusted by everybody; another user's by nobody else.
        assert_eq!(is_trusted(uid + 1, None), uid == 0);
        if uid != 0 {
            return eprintln!("not tested: only root can make a folder of another user's");
        }
        lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(trusted_by(&link, 0, None).is_err(), "another user's link to root's folder");
        chown(&own, Some(NOBODY), Some(0)).unwrap();
        let refused = trusted_by(&own, 0, None).unwrap_err();
        assert!(refused.ends_with("own belongs to user 65534, not to user 0"), "{refused}");
        assert!(is_trusted(0, Some(NOBODY)), "of who called sudo");
        assert!(is_trusted(NOBODY, None));
        assert!(!is_trusted(1000, Some(NOBODY)), "who calls sudo counts for root alone");
        set_mode(&own, 0o775);
        assert!(is_trusted(0, Some(NOBODY)), "root's own group may write");
        chown(&own, None, Some(NOBODY)).unwrap();
        assert!(!is_trusted(0, Some(NOBODY)), "another group may write");
    }
}
