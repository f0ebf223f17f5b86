//! The binaries that hosts are given: this one, and others for hosts of another architecture.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

#[derive(Debug, Clone)]
pub(crate) struct AgentBinary {
    pub(crate) path: PathBuf,
    /// As `uname -m` says it.
    pub(crate) machine: &'static str,
    /// Half of its SHA-256 in hexadecimal: what it is called on hosts, so that one of another version is another file.
    pub(crate) hash: String,
    pub(crate) bytes: u64,
}

impl AgentBinary {
    pub(crate) fn of(path: &Path) -> Result<AgentBinary, String> {
        let refused = |why: String| format!("{} cannot be an agent: {why}.", path.display());
        let mut file = File::open(path).map_err(|e| refused(e.to_string()))?;
        let mut context = Context::new(&SHA256);
        let mut buffer = vec![0; 1 << 16];
        let (mut head, mut bytes) = (Vec::new(), 0);
        loop {
            let length = file.read(&mut buffer).map_err(|e| refused(e.to_string()))?;
            let Some(read) = buffer.get(..length).filter(|read| !read.is_empty()) else { break };
            if bytes == 0 {
                head = read.to_vec();
            }
            context.update(read);
            bytes += length as u64;
        }
        let machine = machine(&head)
            .ok_or_else(|| refused("it is not a Linux program for 64-bit x86, ARM or RISC-V".to_owned()))?;
        let hash = context.finish().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Ok(AgentBinary { path: path.to_owned(), machine, hash, bytes })
    }
}

/// The architecture of a little-endian ELF file of 64 bits.
fn machine(head: &[u8]) -> Option<&'static str> {
    let is_elf = head.starts_with(b"\x7fELF\x02\x01");
    match head.get(18..20).filter(|_| is_elf)? {
        [62, 0] => Some("x86_64"),
        [183, 0] => Some("aarch64"),
        [243, 0] => Some("riscv64"),
        _ => None,
    }
}

/// What `uname -m` says, by the name that Linux has for it.
pub(crate) fn linux_name(uname: &str) -> &str {
    match uname {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_one_for_this_machine_and_a_text_is_none() {
        let own = AgentBinary::of(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!((own.machine, own.hash.len()), (std::env::consts::ARCH, 32));
        assert_eq!(own.bytes, std::fs::metadata(&own.path).unwrap().len());
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, "#!/bin/sh\n").unwrap();
        assert!(AgentBinary::of(&text).unwrap_err().contains("not a Linux program"));
        assert!(
            AgentBinary::of(&folder.path().join("none")).unwrap_err().contains("none cannot be an agent")
        );
    }
}
