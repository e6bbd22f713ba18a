//! Writing of generated files, and detection of stale ones.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use similar::TextDiff;

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artefact {
    /// The path of the file from the root of the repository.
    pub path: PathBuf,
    /// The content of the file.
    pub text: String,
}

impl Artefact {
    /// Creates a file with that text.
    pub fn new(path: impl Into<PathBuf>, text: String) -> Self {
        Artefact { path: path.into(), text }
    }
}

/// Folders that contain only generated files. A file that no generator writes is stale.
pub const GENERATED_FOLDERS: &[&str] = &[
    "conformance/src/generated",
    "docs/reference",
    "sdk-rust/src/generated",
    "sdk-rust/schema",
    "sdk-ts/src/generated",
    "sdk-python/python/agentese/generated",
    "extensions/python/generated",
];

/// Writes all files and removes stale ones.
///
/// # Errors
/// If a file cannot be written; the text names the file.
pub fn write(root: &Path, artefacts: &[Artefact]) -> anyhow::Result<()> {
    for artefact in artefacts {
        let path = root.join(&artefact.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        if std::fs::read_to_string(&path).is_ok_and(|old| old == artefact.text) {
            continue;
        }
        std::fs::write(&path, &artefact.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    for stale in stale_files(root, artefacts)? {
        let path = root.join(stale);
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

/// Compares the files on disk with the output of the generators.
///
/// # Errors
/// If they differ; the text is a diff with the command that updates the files.
pub fn check(root: &Path, artefacts: &[Artefact]) -> anyhow::Result<()> {
    let mut report = String::new();
    for artefact in artefacts {
        let path = root.join(&artefact.path);
        let name = artefact.path.display();
        match std::fs::read_to_string(&path) {
            Err(_) => {
                let _ = writeln!(report, "missing: {name}");
            }
            Ok(old) if old != artefact.text => {
                let _ = writeln!(report, "differs: {name}");
                let diff = TextDiff::from_lines(old.as_str(), artefact.text.as_str());
                let diff = diff.unified_diff().context_radius(2).header("on disk", "generated").to_string();
                for line in diff.lines().take(60) {
                    let _ = writeln!(report, "    {line}");
                }
            }
            Ok(_) => {}
        }
    }
    for stale in stale_files(root, artefacts)? {
        let _ = writeln!(report, "no longer generated: {}", stale.display());
    }
    if report.is_empty() {
        return Ok(());
    }
    anyhow::bail!("generated files are stale; run `{}`\n\n{report}", crate::COMMAND)
}

fn stale_files(root: &Path, artefacts: &[Artefact]) -> anyhow::Result<Vec<PathBuf>> {
    let mut stale = Vec::new();
    for folder in GENERATED_FOLDERS {
        let mut folders = vec![PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
            for entry in entries {
                let entry = entry.with_context(|| format!("cannot list {}", folder.display()))?;
                let path = folder.join(entry.file_name());
                if entry.path().is_dir() {
                    folders.push(path);
                } else if !artefacts.iter().any(|artefact| artefact.path == path) {
                    stale.push(path);
                }
            }
        }
    }
    stale.sort();
    Ok(stale)
}
