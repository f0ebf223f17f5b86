//! A folder with the server that misbehaves, and what is to be left of its runs: nothing.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::world::{Said, World, processes_naming, wait_until};

/// A test's folder with a recipe for the misbehaving server and an experiment of it.
pub struct Lab {
    pub world: World,
}

impl Lab {
    pub fn new(mode: &str, recipe: &str, plan: &str) -> Lab {
        Lab::of(&[mode], mode, 1, recipe, plan)
    }

    /// With a recipe of each of these names, all of them alike, and an experiment of so many blocks.
    pub fn of(names: &[&str], mode: &str, blocks: u32, recipe: &str, plan: &str) -> Lab {
        let world = World::new();
        for made in ["temporary", "meet"] {
            fs::create_dir_all(world.path(made)).unwrap();
        }
        for name in names {
            let folder = world.path("recipes").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("misbehave.py"), include_str!("misbehave.py")).unwrap();
            let text = format!(
                "schema = \"prony.server/1\"\ntitle = \"One that misbehaves\"\nlanguage = \"Python\"\n\
                 kind = \"runtime\"\nroutes = [\"text\"]\nprocesses = \"single\"\nkeepalive = true\n{recipe}\
                 [requires]\ncommands = [\"python3\"]\n\
                 [start]\ncommand = [\"python3\", \"misbehave.py\", \"{mode}\", \"{{port}}\", {:?}]\n",
                world.path("meet").display().to_string()
            );
            fs::write(folder.join("server.toml"), text).unwrap();
        }
        world.write(
            "e.toml",
            &format!(
                "schema = \"prony.experiment/1\"\ntitle = \"t\"\ncandidates = {names:?}\nblocks = {blocks}\n\
                 [[plan]]\n{plan}"
            ),
        );
        Lab { world }
    }

    pub fn command_with(&self, flags: &[&str]) -> Command {
        let line = ["bench", "e.toml", "--servers", "recipes", "-q"];
        let mut command = self.world.command(&[&line, flags].concat());
        command.env("TMPDIR", self.world.path("temporary"));
        command
    }

    pub fn command(&self) -> Command {
        self.command_with(&["-o", "r.jsonl"])
    }

    pub fn bench(&self) -> Said {
        self.command().output().unwrap().into()
    }

    /// What names it is a server of this test, in whatever session it hides.
    pub fn mark(&self) -> String {
        self.world.path("meet").display().to_string()
    }

    /// Guards in the journal: one for each server that is up.
    pub fn guards(&self) -> usize {
        fs::read_dir(self.world.path("state/journal")).map_or(0, Iterator::count)
    }

    /// Starts the bench, and waits until a server of mode `held-N` stops answering in mid load.
    pub fn start_and_wait_in_mid_load(&self, flags: &[&str]) -> Child {
        let mut command = self.command();
        let child = command.args(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("a server holds its load", || self.world.path("meet/held").exists());
        child
    }

    /// Lets it go on, and completes the run.
    pub fn go_on(&self) -> Said {
        self.world.write("meet/go", "");
        self.command_with(&["--resume", "r.jsonl"]).output().unwrap().into()
    }

    pub fn result(&self) -> Value {
        let mut results = self.world.lines("r.jsonl", "result");
        assert_eq!(results.len(), 1, "{results:?}");
        results.remove(0)
    }

    /// No process, port, cgroup or temporary file is left of the run.
    pub fn assert_nothing_left(&self) {
        let mark = self.mark();
        wait_until("the run's servers are gone", || processes_naming(&mark).is_empty());
        for result in self.world.lines("r.jsonl", "result") {
            let Some(address) = result["trial"]["target"]["address"].as_str() else { continue };
            let address: SocketAddr = address.parse().unwrap();
            assert!(TcpStream::connect(address).is_err(), "somebody listens at {address}");
        }
        let left = |folder: PathBuf| -> Vec<PathBuf> {
            fs::read_dir(folder).map_or_else(|_| Vec::new(), |all| all.flatten().map(|e| e.path()).collect())
        };
        assert_eq!(left(self.world.path("temporary")), Vec::<PathBuf>::new());
        assert_eq!(left(self.world.path("state/journal")), Vec::<PathBuf>::new());
        // A cgroup is its guard's; other tests' guards are at work and end in their own time.
        let orphans = || -> Vec<PathBuf> { cgroups().into_iter().filter(|c| !guard_lives(c)).collect() };
        wait_until("every cgroup's guard lives", || orphans().is_empty());
    }
}

/// Folders named `prony-PID` where the lab makes cgroups: at most two levels below a hierarchy's root.
fn cgroups() -> Vec<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect()
    };
    let root = below(Path::new("/sys/fs/cgroup"));
    let two: Vec<PathBuf> = root.iter().flat_map(|folder| below(folder)).collect();
    let three: Vec<PathBuf> = two.iter().flat_map(|folder| below(folder)).collect();
    root.into_iter().chain(two).chain(three).filter(|path| guard_of(path).is_some()).collect()
}

fn guard_of(cgroup: &Path) -> Option<u32> {
    cgroup.file_name()?.to_str()?.strip_prefix("prony-")?.parse().ok()
}

fn guard_lives(cgroup: &Path) -> bool {
    // Numbers over the kernel's highest pid are those of the cgroups' own test.
    guard_of(cgroup).is_some_and(|pid| pid > 4_194_304 || Path::new(&format!("/proc/{pid}")).exists())
}
