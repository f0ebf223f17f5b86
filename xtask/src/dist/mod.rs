//! `cargo xtask dist [--target TARGET] [--try] [--tag]`: what a release consists of, in `target/dist/`: one static
//! binary, an archive, a Debian package, a wheel and a container image, with checksums, of one tree, `bin/` and
//! `share/`. The same commit and binary give the same bytes. `--try` installs each where nothing else is (`trial.rs`);
//! `--tag` names the commit.

mod deb;
mod fleet;
mod licences;
mod tag;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Parser;

use crate::engine::Engine;
use crate::files::{self, at, copy, write};
use crate::programs::{is_there, seen, text};
use crate::release::Release;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What none of the artifacts may be larger than.
const SIZE_MAX: u64 = 14_000_000;
/// Shells, and where each looks below `share/` for what completes `prony`.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/prony"),
    ("zsh", "zsh/vendor-completions/_prony"),
    ("fish", "fish/vendor_completions.d/prony.fish"),
];

#[derive(Parser)]
pub(crate) struct Asked {
    #[arg(long)]
    target: Option<String>,
    /// Install each artifact where nothing else is
    #[arg(long = "try")]
    tried: bool,
    /// Tag the commit
    #[arg(long)]
    tag: bool,
    /// Build the binary and no more
    #[arg(long, conflicts_with_all = ["tried", "tag"])]
    built: bool,
}

struct Dist {
    root: PathBuf,
    out: PathBuf,
    /// The tree, and what is packed on the way.
    work: PathBuf,
    /// `x86_64`, say: Rust's name of the processor.
    machine: String,
    address: String,
    /// The commit's date, in seconds, which every file of every artifact has.
    epoch: String,
}

pub(crate) fn run(root: &Path, asked: Asked) -> Result<(), String> {
    let target = asked.target.unwrap_or_else(static_target);
    let binary = build(root, &target)?;
    if asked.built {
        return Ok(());
    }
    let machine = target.split('-').next().unwrap_or_default().to_owned();
    let epoch = text(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let work = root.join("target/dist-work").join(&machine);
    let address = Release::read(root)?.address();
    let dist = Dist { root: root.to_owned(), out: root.join("target/dist"), work, machine, address, epoch };
    dist.pack(&binary)?;
    if asked.tried {
        trial::run(&dist)?;
    }
    if asked.tag { tag::tag(root, &dist.out) } else { Ok(()) }
}

/// musl's where rustup has it here, with a compiler of C for it; else the C library of this machine, linked statically.
fn static_target() -> String {
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let libraries = text(Command::new("rustc").args(["--print", "target-libdir", "--target", &musl]));
    let there = libraries.is_ok_and(|folder| Path::new(&folder).is_dir());
    let compiler = is_there("musl-gcc", "--version");
    let lacks = match (there, compiler) {
        (true, true) => return musl,
        (false, _) => format!("{musl} is not installed (rustup target add {musl})"),
        (true, false) => "musl-gcc is not installed (apt-get install musl-tools)".to_owned(),
    };
    let gnu = musl.replace("musl", "gnu");
    println!("{lacks}: built for {gnu}, with its C library inside");
    gnu
}

pub(crate) fn binary(root: &Path) -> Result<PathBuf, String> {
    build(root, &static_target())
}

fn build(root: &Path, target: &str) -> Result<PathBuf, String> {
    if !root.join("web/dist/app.packed").is_file() {
        return Err("the web page is not built, and a release has it inside: make web".to_owned());
    }
    let begun = Instant::now();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--profile", "dist", "--locked", "--package", "prony", "--target", target]);
    if target.ends_with("-gnu") {
        cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    seen(cargo.current_dir(root))?;
    println!("{:6.1} s  the binary, for {target}", begun.elapsed().as_secs_f64());
    Ok(root.join("target").join(target).join("dist/prony"))
}

type Make<'a> = &'a dyn Fn() -> Result<(), String>;

impl Dist {
    /// What `bin/` and `share/` lie in, and are packed in, without an ending.
    fn name(&self) -> String {
        format!("prony-{VERSION}-{}-linux", self.machine)
    }

    fn prony(&self) -> PathBuf {
        self.work.join(self.name()).join("bin/prony")
    }

    fn pack(&self, binary: &Path) -> Result<(), String> {
        for folder in [&self.out, &self.work] {
            files::anew(folder)?;
        }
        let name = self.name();
        let tree = self.work.join(&name);
        let made: [(&str, Make<'_>); 6] = [
            ("the tree", &|| self.tree(binary, &tree)),
            ("the archive", &|| self.tar(&tree, &self.out.join(format!("{name}.tar.gz")))),
            ("the Debian package", &|| deb::build(self, &tree)),
            ("the wheel", &|| self.wheel(&tree)),
            ("the image", &|| self.image(&tree)),
            ("the checksums", &|| self.sums()),
        ];
        for (what, make) in made {
            let begun = Instant::now();
            make()?;
            println!("{:6.1} s  {what}", begun.elapsed().as_secs_f64());
        }
        let mut too_large = Vec::new();
        for path in files_of(&self.out)? {
            let bytes = fs::metadata(&path).map_err(at(&path))?.len();
            println!("{bytes:>11}  {}", path.display());
            if bytes > SIZE_MAX {
                too_large.push(path.display().to_string());
            }
        }
        if too_large.is_empty() {
            Ok(())
        } else {
            Err(format!("over {SIZE_MAX} bytes: {}", too_large.join(", ")))
        }
    }

    /// `bin/` and `share/`, as they lie below `/usr`, `/usr/local` or `~/.local`.
    fn tree(&self, binary: &Path, tree: &Path) -> Result<(), String> {
        let prony = self.prony();
        copy(binary, &prony)?;
        let share = tree.join("share");
        let man = share.join("man/man1");
        text(Command::new(&prony).arg("man").arg(&man))?;
        for page in files_of(&man)? {
            text(Command::new("gzip").arg("-9n").arg(&page))?;
        }
        for (shell, place) in COMPLETIONS {
            let script = text(Command::new(&prony).args(["completions", shell]))?;
            write(&share.join(place), format!("{script}\n"))?;
        }
        licences::write(&self.root, &share.join("doc/prony/THIRD-PARTY.txt"))?;
        for name in ["LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
            copy(&self.root.join(name), &share.join("doc/prony").join(name))?;
        }
        Ok(())
    }

    fn tar(&self, tree: &Path, to: &Path) -> Result<(), String> {
        let name = tree.file_name().unwrap_or_default();
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"]);
        tar.arg(format!("--mtime=@{}", self.epoch)).args(["--use-compress-program", "gzip -9n", "-C"]);
        text(tar.arg(&self.work).arg("-cf").arg(to).arg(name)).map(drop)
    }

    fn wheel(&self, tree: &Path) -> Result<(), String> {
        let script = self.root.join("xtask/src/dist/wheel.py");
        let mut python = Command::new("python3");
        python.arg(script).arg(tree).arg(&self.out).args([
            VERSION,
            &self.machine,
            &self.address,
            &self.epoch,
        ]);
        text(&mut python).map(drop)
    }

    /// As the `Dockerfile` has it; skipped, which is said, where there is no podman.
    fn image(&self, tree: &Path) -> Result<(), String> {
        let folder = self.root.join("target/containers");
        let Some(engine) = Engine::new(&folder, &["podman"], "the image")? else { return Ok(()) };
        let name = format!("localhost/prony:{VERSION}");
        let (file, context) = (self.root.join("Dockerfile"), tree.display().to_string());
        let to = self.out.join(format!("prony-{VERSION}-{}-image.tar", self.machine));
        let platform = format!("--platform=linux/{}", self.debian_machine()?);
        let (file, epoch) = (file.display().to_string(), format!("--timestamp={}", self.epoch));
        engine.command(
            "podman",
            &["build", "--quiet", &platform, &epoch, "--tag", &name, "--file", &file, &context],
        )?;
        let to = to.display().to_string();
        engine.command("podman", &["save", "--quiet", "--format", "oci-archive", "--output", &to, &name])?;
        Ok(())
    }

    /// Debian's name of the processor, which is also Go's and so the engines'.
    fn debian_machine(&self) -> Result<&'static str, String> {
        match self.machine.as_str() {
            "x86_64" => Ok("amd64"),
            "aarch64" => Ok("arm64"),
            other => Err(format!("Debian's name of {other} is not known here")),
        }
    }

    /// Of all artifacts, by names alone: `sha256sum -c SHA256SUMS` beside them.
    fn sums(&self) -> Result<(), String> {
        let names = files_of(&self.out)?;
        let names = names.iter().filter_map(|path| path.file_name());
        let sums = text(Command::new("sha256sum").args(names).current_dir(&self.out))?;
        write(&self.out.join("SHA256SUMS"), format!("{sums}\n"))
    }
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(files::list(folder)?.into_iter().filter(|path| path.is_file()).collect())
}
