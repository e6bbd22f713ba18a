//! Removal of copies. Its functions block. They are used when a call ends or is aborted, and when the program starts.

use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::git::{HIDDEN_VARIABLES, SAFE_OPTIONS};
use crate::providers::key_variables;

const EXTENSION: &str = "lease";

/// A temporary branch that a merge has created.
#[derive(Debug, Clone)]
pub struct Branch {
    pub name: String,
    /// The commit of the branch.
    pub commit: String,
}

/// Returns the full name of a branch.
pub fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// A locked file that marks a folder as used by this process.
#[derive(Debug)]
pub struct LeaseFile {
    file: File,
    /// The folder that is marked as used.
    pub folder: PathBuf,
    root: PathBuf,
}

impl LeaseFile {
    /// Creates a folder with the given name, and locks a file for it.
    pub fn acquire(worktrees: &Path, name: &str, root: &Path) -> io::Result<Self> {
        make_private(worktrees)?;
        let folder = worktrees.join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.with_extension(EXTENSION))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut lease_file = Self { file, folder, root: root.to_owned() };
        lease_file.write(&[])?;
        make_private(&lease_file.folder)?;
        Ok(lease_file)
    }

    /// Records the temporary branches in the lock file, so that they can be removed after a crash.
    pub fn write(&mut self, branches: &[Branch]) -> io::Result<()> {
        let branches: Vec<_> = branches.iter().map(|branch| [&branch.name, &branch.commit]).collect();
        let text = json!({"root": self.root.to_string_lossy(), "branches": branches}).to_string();
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(text.as_bytes())
    }

    /// Removes the folder, the branches and the lock file.
    pub fn remove(mut self) {
        if let Err(error) = remove_leased(&mut self.file, &self.folder) {
            tracing::warn!(place = %self.folder.display(), %error, "copies of a repository are left behind");
        }
    }
}

/// Removes copies in a folder whose processes were killed. Does not fail: copies that cannot be removed remain until
/// the next start.
pub fn sweep(worktrees: &Path) {
    let Ok(entries) = std::fs::read_dir(worktrees) else { return };
    let leases = entries.flatten().map(|entry| entry.path());
    for lease in leases.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION)) {
        let Ok(mut file) = File::options().read(true).write(true).open(&lease) else { continue };
        // A live owner holds the lock.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
            && let Err(error) = remove_leased(&mut file, &lease.with_extension(""))
        {
            tracing::warn!(lease = %lease.display(), %error, "copies of a repository are left behind");
        }
    }
}

fn remove_leased(lease: &mut File, folder: &Path) -> io::Result<()> {
    let mut text = String::new();
    lease.rewind()?;
    lease.read_to_string(&mut text)?;
    let content: Value = serde_json::from_str(&text).unwrap_or_default();
    let root = content["root"].as_str().map(PathBuf::from).filter(|root| root.is_dir());
    if let Some(root) = root {
        for branch in content["branches"].as_array().into_iter().flatten() {
            // A branch that was moved since belongs to the user.
            if let (Some(name), Some(commit)) = (branch[0].as_str(), branch[1].as_str()) {
                git(&root, &["update-ref", "--no-deref", "-d", &reference(name), commit]);
            }
        }
    }
    let lease_file = folder.with_extension(EXTENSION);
    if remove_detached(lease, &[folder, &lease_file]).is_err() {
        remove_all(folder)?;
        ignore_missing(std::fs::remove_file(lease_file))?;
    }
    Ok(())
}

/// Removes files and folders in a separate process, which survives this process and holds the lock until its
/// end. Fails if something is left.
fn remove_detached(lease: &File, paths: &[&Path]) -> io::Result<()> {
    let mut command = Command::new("rm");
    command
        .arg("-rf")
        .arg("--")
        .args(paths)
        .stdin(lease.try_clone()?)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The process must not receive signals to the group of this process.
    let status = command.process_group(0).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("some files could not be removed")) }
}

fn git(root: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    for name in HIDDEN_VARIABLES.into_iter().chain(key_variables()) {
        command.env_remove(name);
    }
    command.args(SAFE_OPTIONS).args(arguments).current_dir(root);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.status() {
        tracing::warn!(%error, "git does not start");
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Removes a folder with its contents, even if they are read-only.
pub fn remove_all(path: &Path) -> io::Result<()> {
    ignore_missing(std::fs::remove_dir_all(path)).or_else(|_| {
        make_removable(path);
        ignore_missing(std::fs::remove_dir_all(path))
    })
}

fn make_removable(path: &Path) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if !metadata.is_dir() {
        return;
    }
    let _ = std::fs::set_permissions(path, Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        make_removable(&entry.path());
    }
}

/// Creates a folder that only its owner can access. Fails if the folder belongs to another user.
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let metadata = path.symlink_metadata()?;
    if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other(format!("{} belongs to another user", path.display())));
    }
    Ok(())
}
