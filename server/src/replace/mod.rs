//! Giving a file new content so that a crash, a full disk or a loss of power leaves the old content or the new.
//!
//! The usual way writes the content to a file beside the target, syncs it, and renames it over the target: whoever
//! looks sees one of the two. A new file has a new owner and none of the attributes of the old one, so it gets those
//! of the old one first. Where they cannot be given to it, where the target has more than one name or is a mount of
//! its own, and where the directory takes no new file, the target itself is written (`in_place`): a synced copy of
//! its old content is kept until the new content is on the disk.
//!
//! | file | concept |
//! |---|---|
//! | `beside` | the file that takes the target's name; what killed programs left of such files |
//! | `attributes` | owner, mode, extended attributes |
//! | `in_place` | writing the target itself |

mod attributes;
mod beside;
mod in_place;
#[cfg(test)]
mod tests;

pub(crate) use beside::{is_left_behind, sweep};
pub use in_place::tell_of_copies;

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use beside::Beside;

/// Why a file was not replaced.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system refused this call for this path. The old content is as it was.
    System { call: &'static str, path: PathBuf, source: io::Error },
    /// The caller does not want it any more.
    Unwanted(String),
    /// Writing the target itself failed, and so did bringing the old content back, which is in `kept`.
    Torn { kept: PathBuf, source: io::Error },
}

impl Failure {
    fn system<'a>(call: &'static str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |source| Self::System { call, path: path.to_owned(), source }
    }

    /// What the system said; for callers that have their own words.
    pub(crate) fn into_io(self) -> io::Error {
        match self {
            Self::System { source, .. } => source,
            Self::Unwanted(reason) => io::Error::other(reason),
            Self::Torn { kept, source } => io::Error::new(
                source.kind(),
                format!("{source}; the file is damaged, its old content is in {}", kept.display()),
            ),
        }
    }
}

/// How a file is replaced.
pub(crate) struct Options<'a> {
    /// Where a copy of the old content may be kept for a moment when the target's own directory takes no new file.
    pub scratch: &'a Path,
    /// The mode of a file that was not there; before the umask. One that was there keeps its own.
    pub mode: u32,
    /// The mode that the file gets whatever it had.
    pub exact_mode: Option<u32>,
}

/// Gives `target`, which is no symlink and whose directory exists, the pieces of `content`, one after the other.
/// `still_wanted` is asked right before the target changes, perhaps twice. Blocks.
pub(crate) fn replace(
    target: &Path,
    content: &[&[u8]],
    options: &Options<'_>,
    mut still_wanted: impl FnMut() -> Result<(), String>,
) -> Result<(), Failure> {
    let write = |file: &mut dyn Write| content.iter().try_for_each(|piece| file.write_all(piece));
    replace_with(target, &write, options, &mut still_wanted)
}

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

type Content<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

fn replace_with(
    target: &Path,
    content: Content<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<(), Failure> {
    let old = match fs::metadata(target) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::system("stat", target)(error)),
    };
    if !atomically(target, old.as_ref(), content, options, still_wanted)? {
        in_place::write(target, content, options, still_wanted)?;
    }
    Ok(())
}

/// Says whether it was done; it is not where something would be lost by it, or the system does not let it happen.
fn atomically(
    target: &Path,
    old: Option<&Metadata>,
    content: Content<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<bool, Failure> {
    if old.is_some_and(|old| old.nlink() > 1) {
        return Ok(false);
    }
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The copy of a file that is there shows nothing before it has that file's mode.
    let mode = if old.is_some() { 0o600 } else { options.exact_mode.unwrap_or(options.mode) };
    let mut beside = match Beside::create(directory, mode) {
        Ok(beside) => beside,
        Err(error) if old.is_some() && not_in_this_directory(&error) => return Ok(false),
        Err(error) => return Err(Failure::system("open", target)(error)),
    };
    if let Some(old) = old
        && !attributes::carry(target, old, beside.file())
    {
        return Ok(false);
    }
    content(beside.file()).map_err(Failure::system("write", target))?;
    if let Some(old) = old {
        let mode = options.exact_mode.unwrap_or_else(|| attributes::mode(old));
        attributes::set_mode(beside.file(), mode).map_err(Failure::system("chmod", target))?;
    }
    beside.file().sync_all().map_err(Failure::system("fsync", target))?;
    still_wanted().map_err(Failure::Unwanted)?;
    match beside.take_name(target) {
        Ok(()) => {
            // The rename is as lasting as the directory; a system that cannot sync one has done what it can.
            let _ = fs::File::open(directory).and_then(|directory| directory.sync_all());
            Ok(true)
        }
        Err(error) if old.is_some() && not_under_this_name(&error) => Ok(false),
        Err(error) => Err(Failure::system("rename", target)(error)),
    }
}

fn not_in_this_directory(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// A mount of its own (EBUSY, EXDEV), or somebody else's file in a directory like `/tmp` (EPERM).
fn not_under_this_name(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ResourceBusy};
    matches!(error.kind(), ResourceBusy | CrossesDevices | PermissionDenied)
}
