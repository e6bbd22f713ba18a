//! Replacement of the content of a file. After a crash, a full disk or a loss of power, the file has the old
//! content or the new.
//!
//! The usual way writes the content to a file beside the target, syncs it, and renames it over the target. So
//! readers see one of the two. A new file has a new owner and no attributes, so it first receives those of
//! the old file. The target itself is written (`in_place`) if the attributes cannot be set, if the target has
//! several names or is a mount point, or if the directory accepts no new file. Then a synced copy of the old
//! content exists until the new content is on the disk.
//!
//! | file | concept |
//! |---|---|
//! | `temp_sibling` | the file that takes the target's name; the removal of abandoned files |
//! | `attributes` | owner, mode, extended attributes |
//! | `in_place` | writing of the target itself |

mod attributes;
mod error;
mod in_place;
mod options;
mod temp_sibling;
#[cfg(test)]
mod tests;

pub use error::WriteError;
pub use in_place::log_abandoned_backups;
pub use options::Options;
pub use temp_sibling::{is_abandoned, sweep};

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use error::is_directory_read_only;
use options::ContentWriter;
use temp_sibling::TempSibling;

/// Replaces the content of `target` with the concatenated pieces of `content`. The target must not be a symlink, and
/// its directory must exist. Calls `still_wanted` right before the target changes: once for the rename, and again if
/// the target itself is written after a failed rename. Blocks.
pub fn replace(
    target: &Path,
    content: &[&[u8]],
    options: &Options<'_>,
    mut still_wanted: impl FnMut() -> Result<(), String>,
) -> Result<(), WriteError> {
    let write = |file: &mut dyn Write| content.iter().try_for_each(|piece| file.write_all(piece));
    replace_with(target, &write, options, &mut still_wanted)
}

/// The maximum number of symlinks that are followed to resolve one path. Linux has the same limit.
const MOST_LINKS: usize = 40;

/// Resolves all symlinks of a path, even if the last one points to a missing file. Fails if there are more than 40
/// symlinks, as in a loop.
pub fn resolve_symlinks(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            // Not a link, or missing. Problems with the directory appear when the file is written.
            Err(_) => return Ok(fs::canonicalize(&target).unwrap_or(target)),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

fn replace_with(
    target: &Path,
    content: ContentWriter<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<(), WriteError> {
    let old = match fs::metadata(target) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(WriteError::system("stat", target)(error)),
    };
    if !replace_by_rename(target, old.as_ref(), content, options, still_wanted)? {
        in_place::write(target, content, options, still_wanted)?;
    }
    Ok(())
}

/// Replaces the file by a rename. Returns false if the rename is not possible, or if it would remove
/// attributes or a hard link of the file.
fn replace_by_rename(
    target: &Path,
    old: Option<&Metadata>,
    content: ContentWriter<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<bool, WriteError> {
    if old.is_some_and(|old| old.nlink() > 1) {
        return Ok(false);
    }
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The copy of an existing file is private until it gets that file's mode.
    let mode = if old.is_some() { 0o600 } else { options.exact_mode.unwrap_or(options.mode) };
    let mut sibling = match TempSibling::create(directory, mode) {
        Ok(sibling) => sibling,
        Err(error) if old.is_some() && is_directory_read_only(&error) => return Ok(false),
        Err(error) => return Err(WriteError::system("open", target)(error)),
    };
    if let Some(old) = old
        && !attributes::copy_attributes(target, old, sibling.file())
    {
        return Ok(false);
    }
    content(sibling.file()).map_err(WriteError::system("write", target))?;
    if let Some(old) = old {
        let mode = options.exact_mode.unwrap_or_else(|| attributes::mode(old));
        attributes::set_mode(sibling.file(), mode).map_err(WriteError::system("chmod", target))?;
    }
    sibling.file().sync_all().map_err(WriteError::system("fsync", target))?;
    still_wanted().map_err(WriteError::Unwanted)?;
    match sibling.persist(target) {
        Ok(()) => {
            // The rename is durable only after a sync of its directory. Some systems cannot sync a directory,
            // so the result is ignored.
            let _ = fs::File::open(directory).and_then(|directory| directory.sync_all());
            Ok(true)
        }
        Err(error) if old.is_some() && is_rename_unsupported(&error) => Ok(false),
        Err(error) => Err(WriteError::system("rename", target)(error)),
    }
}

/// Returns true if the error shows that a rename cannot replace the target. The target is a mount point
/// (EBUSY, EXDEV), or belongs to another user in a directory like `/tmp` (EPERM).
fn is_rename_unsupported(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
    matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied)
}
