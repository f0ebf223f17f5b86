use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use prony_model::fnv::hash_of;

const RECIPE: &str = r#"schema = "prony.server/1"
title = "t"
language = "L"
kind = "runtime"
routes = ["text"]
processes = "single"
keepalive = true
[start]
command = ["true", "{port}"]
"#;

fn folder(root: &Path, name: &str, recipe: &str) -> PathBuf {
    let dir = root.join(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("server.toml"), recipe).unwrap();
    dir
}

#[test]
fn every_embedded_recipe_is_right() {
    let catalogue = Catalogue::load(&[]);
    assert_eq!(catalogue.broken, []);
    assert!(!catalogue.servers.is_empty());
    for server in catalogue.servers.values() {
        let work = tempfile::tempdir().unwrap();
        assert_eq!(server.materialise(work.path()).unwrap(), server.content_hash().unwrap());
        assert!(work.path().join("server.toml").is_file(), "{}", server.name);
    }
}

#[test]
fn a_broken_recipe_is_reported_and_the_others_are_loaded() {
    let dir = tempfile::tempdir().unwrap();
    folder(dir.path(), "good", RECIPE);
    folder(dir.path(), "bad", &RECIPE.replace("title", "titel"));
    folder(dir.path(), "lost", &RECIPE.replace("[start]", "versus = \"goood\"\n[start]"));
    folder(dir.path(), "bare", &RECIPE.replace("[start]", "[start]\ntemplates = [\"a.conf\"]"));
    let near_bad = RECIPE.replace("[start]", "versus = \"bad\"\n[start]");
    folder(dir.path(), "near-bad", &near_bad);
    fs::create_dir(dir.path().join("empty")).unwrap();
    fs::write(dir.path().join("README.md"), "notes").unwrap();
    let catalogue = Catalogue::load(&[dir.path().to_owned()]);
    assert!(catalogue.get("good").is_ok() && catalogue.get("near-bad").is_ok());
    let error = |name: &str| catalogue.get(name).unwrap_err();
    assert!(error("bad").contains("bad/server.toml:2: unknown key \"titel\""), "{}", error("bad"));
    let lost = error("lost");
    assert!(
        lost.contains(
            "lost/server.toml:8: versus names the server \"goood\", which is unknown: did you mean \"good\"?"
        ),
        "{lost}"
    );
    assert!(error("bare").contains("server.toml:9: the file \"a.conf\" is needed"), "{}", error("bare"));
    assert!(error("empty").contains("does not exist"), "{}", error("empty"));
    let unknown = error("goodd");
    assert!(
        unknown.starts_with("There is no server \"goodd\" in the catalogue: did you mean \"good\"?"),
        "{unknown}"
    );
    assert_eq!(catalogue.broken.len(), 4);
}

#[test]
fn a_later_folder_replaces_servers_and_a_missing_one_is_said() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    folder(first.path(), "same", RECIPE);
    let later = folder(second.path(), "same", &RECIPE.replace("\"t\"", "\"later\""));
    let missing = first.path().join("nowhere");
    let catalogue = Catalogue::load(&[first.path().to_owned(), second.path().to_owned(), missing.clone()]);
    let server = catalogue.get("same").unwrap();
    assert_eq!((server.recipe.title.as_str(), &server.source), ("later", &Origin::Folder(later)));
    assert!(catalogue.broken.iter().any(|b| b.name == missing.to_string_lossy()));
}

#[test]
fn own_servers_replace_built_in_ones_if_no_one_else_may_write() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("prony/servers");
    let hyper = folder(&own, "hyper", RECIPE);
    folder(&own, "mine", RECIPE);
    let load = |named: &[PathBuf]| Catalogue::with_own(named, &own);
    let replaced = |catalogue: &Catalogue| -> Vec<PathBuf> {
        catalogue.replaced().map(|(_, folder)| folder.to_owned()).collect()
    };
    let catalogue = load(&[]);
    assert_eq!(catalogue.replaced().map(|(name, _)| name).collect::<Vec<_>>(), ["hyper"]);
    assert_eq!((replaced(&catalogue), catalogue.broken), (vec![hyper.clone()], vec![]));
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = load(&[]);
    assert!(replaced(&refused).is_empty());
    assert!(refused.get("hyper").is_ok_and(|server| server.source == Origin::Embedded));
    let why = &refused.broken[0].error;
    assert!(why.contains("may be written by other users: ") && why.contains("--servers "), "{why}");
    assert_eq!(replaced(&load(std::slice::from_ref(&own))), [hyper], "it was named");
}

#[test]
fn materialising_again_changes_nothing_that_was_built() {
    let dir = tempfile::tempdir().unwrap();
    let source = folder(dir.path(), "app", RECIPE);
    fs::write(source.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::write(source.join("old.js"), "old").unwrap();
    fs::create_dir_all(source.join("node_modules/left")).unwrap();
    fs::write(source.join("node_modules/left/out.js"), "x").unwrap();
    let load = || Catalogue::load(&[dir.path().to_owned()]).get("app").unwrap().clone();
    let work = dir.path().join("made/work");
    let first = load().materialise(&work).unwrap();
    assert!(!work.join("node_modules").exists());
    fs::create_dir(work.join("node_modules")).unwrap();
    fs::write(work.join("node_modules/built.js"), "built").unwrap();
    let stamp = || fs::metadata(work.join("old.js")).unwrap().modified().unwrap();
    let before = stamp();
    assert_eq!(load().materialise(&work).unwrap(), first);
    assert_eq!(stamp(), before);

    fs::remove_file(source.join("old.js")).unwrap();
    fs::write(source.join("new.js"), "new").unwrap();
    assert_ne!(load().materialise(&work).unwrap(), first);
    assert!(!work.join("old.js").exists() && work.join("new.js").exists());
    assert!(work.join("node_modules/built.js").exists());
    // What somebody changed there is put right.
    fs::write(work.join("new.js"), "changed").unwrap();
    load().materialise(&work).unwrap();
    assert_eq!(fs::read_to_string(work.join("new.js")).unwrap(), "new");
    assert_eq!(fs::metadata(work.join("run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
}

#[test]
fn links_out_of_the_folder_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let source = folder(dir.path(), "app", RECIPE);
    symlink("server.toml", source.join("inside")).unwrap();
    let load = || Catalogue::load(&[dir.path().to_owned()]).get("app").unwrap().clone();
    let work = dir.path().join("work");
    load().materialise(&work).unwrap();
    assert_eq!(fs::read_to_string(work.join("inside")).unwrap(), RECIPE);
    symlink("/etc/hostname", source.join("outside")).unwrap();
    let error = load().materialise(&work).unwrap_err();
    assert!(error.contains("outside is a link"), "{error}");
}

#[test]
fn a_folder_that_is_no_application_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let source = folder(dir.path(), "app", RECIPE);
    fs::File::create(source.join("huge")).unwrap().set_len(65 << 20).unwrap();
    let catalogue = Catalogue::load(&[dir.path().to_owned()]);
    let error = catalogue.get("app").unwrap().materialise(&dir.path().join("work")).unwrap_err();
    assert!(error.contains("huge"), "{error}");
}

#[test]
fn a_hash_depends_on_where_each_part_ends() {
    let hash = |parts: &[&str]| hash_of(parts.iter().map(|p| p.as_bytes()));
    assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    // FNV-1a of the empty input is its offset basis.
    assert_eq!(hash(&[]), 0xcbf2_9ce4_8422_2325);
}
