//! `verified.toml` beside a recipe: when, where and how somebody saw it keep the contract.
//! Only `prony servers check --record` writes it: docs/servers.md says what was run, not what somebody believes.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::files::{self, DOCKERFILE, Origin, VERIFIED_FILE};
use super::server::Server;
use super::takes::Takes;
use crate::toml_file::TomlFile;

const HEAD: &str = "# Written by `prony servers check --record`: not by hand.\n";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verified {
    /// Its label: the server and the settings that are not its defaults.
    pub candidate: String,
    pub version: String,
    /// The day, `2026-11-21`.
    pub date: String,
    /// `native`, or the engine: `podman 4.3.1`.
    pub runtime: String,
    /// Where its packages came from: `registry`, `local sources`, `found on PATH` (nothing of it was installed, its
    /// programs were there) or, in a container, `image`; and of an image whose base is not the one that its Dockerfile
    /// names, what stands in for it.
    pub how: String,
    pub machine: String,
    /// The recipe's hash at that time: another one now says that the recipe has changed since.
    pub recipe: String,
    /// What it took there; `None` in records from before that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes: Option<Takes>,
}

impl Verified {
    /// What it is the only record of: a candidate by a runtime of whatever version, on a system of whatever size.
    fn place(&self) -> (&str, &str, &str) {
        let runtime = self.runtime.split(' ').next().unwrap_or_default();
        (&self.candidate, runtime, self.machine.split(',').next().unwrap_or_default())
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    verified: Vec<Verified>,
}

impl Server {
    /// The hash of what a verification is about: all files, the shared ones too, without the Dockerfile where none is used.
    pub fn recipe_hash(&self, in_container: bool) -> String {
        let files = self.files().unwrap_or_default();
        let counted = files.iter().filter(|file| in_container || file.path.as_os_str() != DOCKERFILE);
        format!("{:016x}", files::hash_of_files(counted))
    }

    /// What was recorded of it; nothing where the file is damaged, since it then says nothing reliable.
    pub fn verified(&self) -> Vec<Verified> {
        let text =
            files::read_text(&self.name, &self.source, VERIFIED_FILE).ok().flatten().unwrap_or_default();
        TomlFile { name: VERIFIED_FILE, text: &text }.parse::<File>().unwrap_or_default().verified
    }

    /// Records one verification, in the place of an earlier one of the same candidate, runtime and system.
    pub fn record(&self, new: Verified) -> Result<PathBuf, String> {
        let Origin::Folder(folder) = &self.source else {
            return Err(format!(
                "{} comes with the binary, where nothing can be recorded: give the folder of its recipe, --servers servers.",
                self.name
            ));
        };
        let mut all = self.verified();
        all.retain(|old| old.place() != new.place());
        all.push(new);
        all.sort_by(|a, b| a.place().cmp(&b.place()));
        let path = folder.join(VERIFIED_FILE);
        let refused = |why: String| format!("{} cannot be written: {why}.", path.display());
        let text = toml::to_string(&File { verified: all }).map_err(|why| refused(why.to_string()))?;
        let unfinished = path.with_extension("toml.new");
        fs::write(&unfinished, format!("{HEAD}\n{text}"))
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(|why| refused(why.to_string()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    const RECIPE: &str = "schema = \"prony.server/1\"\ntitle = \"t\"\nlanguage = \"L\"\nkind = \"runtime\"\n\
        routes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n[start]\ncommand = [\"x\", \"{port}\"]\n";

    fn verified(candidate: &str, runtime: &str, date: &str) -> Verified {
        Verified {
            candidate: candidate.to_owned(),
            version: "x \"1\"".to_owned(),
            date: date.to_owned(),
            runtime: runtime.to_owned(),
            how: "registry".to_owned(),
            machine: "m".to_owned(),
            recipe: "0".to_owned(),
            takes: Some(Takes { processes: Some(2), ..Takes::default() }),
        }
    }

    #[test]
    fn a_later_record_replaces_the_earlier_of_the_same_kind() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("app");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("server.toml"), RECIPE).unwrap();
        let server = || Catalogue::load(&[dir.path().to_owned()]).get("app").unwrap().clone();
        let before = server().recipe_hash(false);
        server().record(verified("app", "native", "2026-01-01")).unwrap();
        server().record(verified("app", "podman 4", "2026-01-02")).unwrap();
        server().record(verified("app", "podman 5", "2026-01-03")).unwrap();
        let elsewhere =
            Verified { machine: "other, x86_64".to_owned(), ..verified("app", "native", "2026-01-04") };
        server().record(elsewhere).unwrap();
        let all = server().verified();
        let seen: Vec<(&str, &str)> = all.iter().map(|v| (v.runtime.as_str(), v.date.as_str())).collect();
        assert!(all.iter().all(|v| v.takes.is_some_and(|takes| takes.processes == Some(2))), "{all:?}");
        assert_eq!(seen, [("native", "2026-01-01"), ("native", "2026-01-04"), ("podman 5", "2026-01-03")]);
        assert_eq!(server().recipe_hash(false), before, "a record is no change of the recipe");
        fs::write(folder.join("Dockerfile"), "FROM x\n").unwrap();
        assert_eq!(server().recipe_hash(false), before);
        assert_ne!(server().recipe_hash(true), before);
        fs::write(folder.join("app.py"), "1").unwrap();
        assert_ne!(server().recipe_hash(false), before);
    }

    #[test]
    fn a_built_in_recipe_cannot_be_recorded() {
        let catalogue = Catalogue::load(&[]);
        let error =
            catalogue.get("node-http").unwrap().record(verified("node-http", "native", "d")).unwrap_err();
        assert!(error.contains("--servers servers"), "{error}");
    }
}
