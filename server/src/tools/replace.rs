//! Replacing a file's content as one step: whoever looks sees the old content or the new one.
//!
//! The new content goes to a file beside the target, is synced, and takes the target's name. So a full disk, a kill
//! or a loss of power leaves one of the two whole. What the recipe does not keep: hard links to the old file, its
//! owner where that is somebody else, extended attributes.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::artifact::random_hex;
use super::os_error;

/// As many links as the system follows.
const MOST_LINKS: usize = 40;

/// The file that a path names after all symlinks, also when the last one leads to a file that does not exist yet.
/// Fails on loops and on what the system refuses to look at.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            // No link, or nothing there. What is wrong with the directory shows when the file is written.
            Err(_) => return Ok(fs::canonicalize(&target).unwrap_or(target)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Gives `target`, which is no symlink, the new content. Missing directories are created. `still_wanted` is asked
/// last, right before the name changes hands. Fails with the text for the model; the old content is then untouched.
pub(crate) fn replace(
    target: &Path,
    content: &[u8],
    still_wanted: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    replace_with(target, |file| file.write_all(content), still_wanted)
}

fn replace_with(
    target: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
    still_wanted: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let problem = |call: &str, error: io::Error| os_error::describe(&error, call, target);
    let mode = match fs::metadata(target) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(format!("EISDIR: {} is a directory", target.display()));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(format!("{} is no regular file", target.display()));
        }
        // Without the bits that lend somebody's rights to whoever runs the file: the content is new.
        Ok(metadata) => Some(metadata.permissions().mode() & 0o1777),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(problem("stat", error)),
    };
    // A file that its mode protects from writing stays as it is, although its directory would allow the trick.
    if mode.is_some() {
        let writable = rustix::fs::access(target, rustix::fs::Access::WRITE_OK);
        writable.map_err(|error| problem("open", error.into()))?;
    }
    let directory = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(|error| os_error::describe(&error, "mkdir", directory))?;
    let mut beside = Beside::create(directory, mode).map_err(|error| problem("open", error))?;
    write(&mut beside.file).map_err(|error| problem("write", error))?;
    if let Some(mode) = mode {
        beside.file.set_permissions(Permissions::from_mode(mode)).map_err(|error| problem("chmod", error))?;
    }
    beside.file.sync_data().map_err(|error| problem("fsync", error))?;
    still_wanted()?;
    fs::rename(&beside.path, target).map_err(|error| problem("rename", error))?;
    beside.renamed = true;
    Ok(())
}

/// The new content before it has its name; removed unless it gets it.
struct Beside {
    path: PathBuf,
    file: File,
    renamed: bool,
}

impl Beside {
    fn create(directory: &Path, mode: Option<u32>) -> io::Result<Self> {
        let path = directory.join(format!(".agentese-{}.tmp", random_hex()?));
        // A new file gets what the umask leaves; the copy of an existing one shows nothing before it has its mode.
        let mode = if mode.is_some() { 0o600 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        Ok(Self { path, file, renamed: false })
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn wanted() -> Result<(), String> {
        Ok(())
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn mode_is_kept_and_lent_rights_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tool.sh");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
        replace(&file, b"new", wanted).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o755);
        assert_eq!(names(directory.path()), ["tool.sh"]);
    }

    #[test]
    fn fm_f87_an_interrupted_write_leaves_the_old_content_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        fs::write(&file, "old").unwrap();
        let half = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(rustix::io::Errno::NOSPC.into())
        };
        let error = replace_with(&file, half, wanted).unwrap_err();
        assert_eq!(error, format!("ENOSPC: no space left on device, write '{}'", file.display()));
        assert_eq!(replace(&file, b"new", || Err("aborted".into())), Err("aborted".into()));
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(names(directory.path()), ["a"]);
    }

    #[test]
    fn links_lead_to_their_target_even_when_it_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        symlink("d/b", root.join("a")).unwrap();
        symlink("c", root.join("d/b")).unwrap();
        assert_eq!(target(&root.join("a")).unwrap(), root.join("d/c"));
        symlink("loop", root.join("loop")).unwrap();
        assert!(target(&root.join("loop")).is_err());
    }
}
