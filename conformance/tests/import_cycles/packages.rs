//! The Rust packages of this repository.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A package and the roots of its library and its binaries.
pub struct Package {
    pub name: String,
    pub roots: Vec<PathBuf>,
}

/// Returns the members of the workspace, and the other packages whose manifests are in Git.
pub fn all(root: &Path) -> Vec<Package> {
    let mut packages = read(&root.join("Cargo.toml"));
    let listed = Command::new("git").args(["ls-files", "*Cargo.toml"]).current_dir(root).output().unwrap();
    assert!(listed.status.success(), "git lists no files: {}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let members: BTreeSet<PathBuf> = packages.iter().map(|(manifest, _)| manifest.clone()).collect();
    for manifest in listed.lines().map(|path| root.join(path)).filter(|path| path.exists()) {
        if manifest != root.join("Cargo.toml") && !members.contains(&manifest) {
            packages.extend(read(&manifest));
        }
    }
    packages.into_iter().map(|(_, package)| package).collect()
}

fn read(manifest: &Path) -> Vec<(PathBuf, Package)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", manifest.display(), String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let is_code = |target: &&Value| {
        let kinds = target["kind"].as_array().unwrap();
        !kinds
            .iter()
            .any(|kind| ["test", "bench", "example", "custom-build"].iter().any(|other| kind == other))
    };
    let package = |package: &Value| {
        let targets = package["targets"].as_array().unwrap().iter().filter(is_code);
        let roots = targets.map(|target| text(&target["src_path"]).into()).collect();
        (text(&package["manifest_path"]).into(), Package { name: text(&package["name"]), roots })
    };
    metadata["packages"].as_array().unwrap().iter().map(package).collect()
}
