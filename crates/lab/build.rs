//! Rebuilds when the catalogue changes: an embedded folder is no dependency Cargo knows of.
fn main() {
    println!("cargo::rerun-if-changed=../../servers");
    println!("cargo::rerun-if-changed=../../experiments");
}
