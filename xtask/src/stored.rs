//! What a task measured, kept under docs/benchmarks/.

use std::fs;
use std::path::Path;

/// Writes `NAME.ENDING` for each of these texts, and says so.
pub(crate) fn write(root: &Path, name: &str, texts: &[(&str, &str)]) -> Result<(), String> {
    let folder = root.join("docs/benchmarks");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (ending, text) in texts {
        let path = folder.join(format!("{name}.{ending}"));
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}
