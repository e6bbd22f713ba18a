//! Writing of the target itself.
//!
//! The old content is copied to a separate file and synced before the target changes. If writing fails, the
//! copy is written back. If the program or the machine stops during the write, the copy stays. It has the
//! name `.NAME.agentese-<16 hex digits>.old` and is beside the target, or in the directory for temporary
//! files. The target may then contain a part of the new content, all of it, or later changes of another
//! program. So nothing is written back later. The path of the copy is logged by the next agent that starts in
//! that directory, and by the next write of this kind.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::attributes;
use super::error::{WriteError, is_directory_read_only};
use super::options::{ContentWriter, Options};

/// Maximum number of bytes of the target's name that the name of the copy contains. File names have at most
/// 255 bytes.
const MAX_NAME_LENGTH: usize = 200;

const MARK: &str = ".agentese-";
const SUFFIX: &str = ".old";

fn parent_directory(target: &Path) -> &Path {
    target.parent().unwrap_or(Path::new("/"))
}

/// Returns the prefix that the names of all copies of `target` have.
fn backup_prefix(target: &Path) -> Vec<u8> {
    let name = target.file_name().unwrap_or_default().as_bytes();
    [b".", &name[..name.len().min(MAX_NAME_LENGTH)], MARK.as_bytes()].concat()
}

/// Returns the abandoned copies in a directory: all of them, or only the copies of the file `of`.
pub(super) fn abandoned_backups(directory: &Path, of: Option<&Path>) -> Vec<PathBuf> {
    let prefix = of.map(backup_prefix).unwrap_or_default();
    let is_copy = |name: &[u8]| {
        let Some(stem) = name.strip_suffix(SUFFIX.as_bytes()) else { return false };
        let Some((rest, digits)) = stem.split_last_chunk::<16>() else { return false };
        name.starts_with(&prefix)
            && name.starts_with(b".")
            && rest.ends_with(MARK.as_bytes())
            && digits.iter().all(u8::is_ascii_hexdigit)
    };
    let is_free = |path: &Path| {
        File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_ok())
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter(|entry| is_copy(entry.file_name().as_bytes()));
    let regular = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    regular.map(|entry| entry.path()).filter(|path| is_free(path)).collect()
}

/// Logs the paths of copies that interrupted programs have left: all copies in a directory, or only the
/// copies of the file `of`.
pub fn log_abandoned_backups(directory: &Path, of: Option<&Path>) {
    for path in abandoned_backups(directory, of) {
        tracing::warn!(
            "a program was stopped while it wrote a file; the previous content is in {}",
            path.display()
        );
    }
}

pub(super) fn write(
    target: &Path,
    content: ContentWriter<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<(), WriteError> {
    let open = WriteError::system("open", target);
    let mut file = OpenOptions::new().read(true).write(true).open(target).map_err(&open)?;
    let before = file.metadata().map_err(&open)?;
    for directory in [parent_directory(target), options.scratch] {
        log_abandoned_backups(directory, Some(target));
    }
    let old = Backup::of(&mut file, target, options.scratch).map_err(WriteError::system("copy", target))?;
    still_wanted().map_err(WriteError::Unwanted)?;
    if let Err(error) = overwrite(&mut file, content) {
        return Err(match old.restore_into(&mut file, before.size()) {
            Ok(()) => WriteError::system("write", target)(error),
            Err(_) => WriteError::Torn { backup: old.keep(), source: error },
        });
    }
    let mode = options.exact_mode.unwrap_or_else(|| attributes::mode(&before));
    if before.mode() & 0o7777 != mode {
        // Only the owner may set them; for other users the system has removed these bits with the first byte.
        let _ = attributes::set_mode(&file, mode);
    }
    Ok(())
}

/// Writes the content to the disk. The file is shortened only at the end. Until then it keeps all of its
/// blocks, so that the old content can be restored on a full disk.
fn overwrite(file: &mut File, content: ContentWriter<'_>) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    content(file)?;
    let length = file.stream_position()?;
    file.set_len(length)?;
    file.sync_all()
}

/// A copy of the old content on disk. Dropping it deletes the copy, unless [`Backup::keep`] was called.
struct Backup {
    path: Option<PathBuf>,
    file: File,
}

impl Backup {
    fn of(file: &mut File, target: &Path, scratch: &Path) -> io::Result<Self> {
        let mut copy = match Self::create(parent_directory(target), target) {
            Err(error) if is_directory_read_only(&error) => Self::create(scratch, target)?,
            other => other?,
        };
        io::copy(file, &mut copy.file)?;
        copy.file.sync_all()?;
        if let Some(directory) = copy.path.as_ref().and_then(|path| path.parent()) {
            let _ = File::open(directory).and_then(|directory| directory.sync_all());
        }
        Ok(copy)
    }

    fn create(directory: &Path, target: &Path) -> io::Result<Self> {
        let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let mut path = backup_prefix(target);
        path.extend_from_slice(format!("{number:016x}{SUFFIX}").as_bytes());
        let path = directory.join(OsString::from_vec(path));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        // Marks the copy as in use. On a file system without locks, the copy is reported too early.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Self { path: Some(path), file })
    }

    /// Writes the copy back into the target. The target still has its blocks, so this works on a full disk
    /// too.
    fn restore_into(&self, target: &mut File, length: u64) -> io::Result<()> {
        let mut copy = &self.file;
        copy.seek(SeekFrom::Start(0))?;
        target.seek(SeekFrom::Start(0))?;
        io::copy(&mut copy, target)?;
        target.set_len(length)?;
        target.sync_all()
    }

    fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
