//! The Debian package, by dpkg-deb of the tree below `/usr`.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Dist, VERSION, files_of};
use crate::files::{at, make, read, write};
use crate::programs::text;

/// The C library is inside. Only some commands run the others: `--runtime container`, `--fleet`, `prony ci`.
const RELATIONS: &str = "Recommends: ca-certificates\n\
    Suggests: curl, git, nats-server, openssh-client, podman | docker.io\n";
const DESCRIPTION: &str = "\
Description: load tester for HTTP servers, with confidence intervals
 Prony applies a known load to one HTTP server and reports throughput, latency
 and what the server and the client cost, or runs many servers side by side in
 shuffled blocks and says which differences are real. A figure that cannot be
 trusted is marked or withheld.
";
const OVERRIDES: &str = "\
# One binary for every Linux: it is linked statically on purpose.
prony: statically-linked-binary
# It was never in Debian, so that there is no report to close.
prony: initial-upload-closes-no-bugs
";
/// Where Debian has the text of the Apache License.
const APACHE: &str = "\
License: Apache-2.0
 On Debian systems its text is in /usr/share/common-licenses/Apache-2.0.
";

pub(super) fn build(dist: &Dist, tree: &Path) -> Result<(), String> {
    let architecture = dist.debian_machine()?;
    let folder = dist.work.join("deb");
    let usr = folder.join("usr");
    make(&folder)?;
    text(Command::new("cp").arg("--recursive").arg(tree).arg(&usr))?;
    let doc = usr.join("share/doc/prony");
    let mit = read(&doc.join("LICENSE-MIT"))?;
    for licence in files_of(&doc)?.into_iter().filter(|path| path.to_string_lossy().contains("LICENSE")) {
        fs::remove_file(&licence).map_err(at(&licence))?;
    }
    write(&doc.join("copyright"), copyright(&mit))?;
    let maintainer = std::env::var("DEBEMAIL").unwrap_or_else(|_| "prony@packages.invalid".to_owned());
    let maintainer = format!("The Prony developers <{maintainer}>");
    let date = format!("@{}", dist.epoch);
    let date = text(Command::new("date").args(["--utc", "--rfc-email", "--date", &date]))?;
    let entry = format!(
        "prony ({VERSION}) unstable; urgency=medium\n\n  * Version {VERSION}, as NEWS.md says.\n\n -- {maintainer}  {date}\n"
    );
    write(&doc.join("changelog"), &entry)?;
    fs::rename(doc.join("CHANGELOG.md"), doc.join("NEWS.md")).map_err(at(&doc))?;
    text(Command::new("gzip").arg("-9n").args(["changelog", "NEWS.md"]).current_dir(&doc))?;
    write(&usr.join("share/lintian/overrides/prony"), OVERRIDES)?;
    let du = ["--summarize", "--apparent-size", "--block-size=1024"];
    let kilobytes = text(Command::new("du").args(du).arg(&usr))?;
    let kilobytes = kilobytes.split_whitespace().next().unwrap_or_default();
    let control = format!(
        "Package: prony\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
         Installed-Size: {kilobytes}\n{RELATIONS}Section: net\nPriority: optional\nHomepage: {}\n{DESCRIPTION}",
        dist.address
    );
    write(&folder.join("DEBIAN/control"), &control)?;
    text(Command::new("chmod").args(["--recursive", "u=rwX,go=rX"]).arg(&folder))?;
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "-Zxz", "--build"]).env("SOURCE_DATE_EPOCH", &dist.epoch);
    text(deb.arg(&folder).arg(dist.out.join(format!("prony_{VERSION}_{architecture}.deb")))).map(drop)
}

fn copyright(mit: &str) -> String {
    let (copyright, terms) =
        mit.split_once("\n\n").map_or(("", mit), |(_, rest)| rest.split_once("\n\n").unwrap_or(("", rest)));
    let terms: Vec<String> = terms
        .trim_end()
        .lines()
        .map(|line| format!(" {}", if line.is_empty() { "." } else { line }))
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: prony\n\n\
         Files: *\n{}\nLicense: Expat or Apache-2.0\n\nLicense: Expat\n{}\n\n{APACHE}",
        copyright.replacen("Copyright (c)", "Copyright:", 1),
        terms.join("\n"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copyright_has_the_owner_and_both_licences() {
        let text = copyright(include_str!("../../../LICENSE-MIT"));
        assert!(text.contains("\nCopyright: 2026 The Prony developers\n"), "{text}");
        assert!(text.contains("\nLicense: Expat\n Permission is hereby granted"), "{text}");
        assert!(text.contains("\n .\n") && text.contains("common-licenses/Apache-2.0"), "{text}");
    }
}
