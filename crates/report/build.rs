//! Takes the front end that `npm run build` left in `web/dist/` into the
//! crate. Without it the crate builds all the same, and pages say what to do.

use std::fs;
use std::path::{Path, PathBuf};

/// What the front end's build leaves: its program, packed; the script that unpacks it; its style; and the hashes of both.
const FILES: [&str; 4] = ["app.packed", "app.loader", "app.css", "app.sha256"];

fn main() {
    // Always there: it holds a .gitignore. Its time changes when the front end is built.
    let own = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
    let dist = Path::new(&own).join("../../web/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let texts = FILES.map(|name| fs::read_to_string(dist.join(name)).unwrap_or_default());
    let whole = texts.iter().all(|text| !text.is_empty());
    if !whole {
        println!("cargo::warning=without its HTML page, which npm builds: make web, then build again");
    }
    for (name, text) in FILES.iter().zip(&texts) {
        let text = if whole { text.as_str() } else { "" };
        if let Err(why) = fs::write(out.join(name), text) {
            println!("cargo::error={name} could not be written to {}: {why}", out.display());
        }
    }
}
