//! Writing the target itself.
//!
//! The old content is copied to a file of its own and synced before the target changes. Where writing fails, the
//! copy is written back. Where the program or the machine stops in the middle, the copy stays: beside the target as
//! `.NAME.agentese-<16 hex digits>.old`, or under the same name in the directory for temporary files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::{Content, Failure, Options, attributes};

/// So much of the target's name stands in that of the copy: names end at 255 bytes.
const NAME: usize = 200;

pub(super) fn write(
    target: &Path,
    content: Content<'_>,
    options: &Options<'_>,
    still_wanted: &mut dyn FnMut() -> Result<(), String>,
) -> Result<(), Failure> {
    let open = Failure::system("open", target);
    let mut file = OpenOptions::new().read(true).write(true).open(target).map_err(&open)?;
    let before = file.metadata().map_err(&open)?;
    let old = Copy::of(&mut file, target, options.scratch).map_err(Failure::system("copy", target))?;
    still_wanted().map_err(Failure::Unwanted)?;
    if let Err(error) = overwrite(&mut file, content) {
        return Err(match old.back_into(&mut file, before.size()) {
            Ok(()) => Failure::system("write", target)(error),
            Err(_) => Failure::Torn { kept: old.keep(), source: error },
        });
    }
    let mode = options.exact_mode.unwrap_or_else(|| attributes::mode(&before));
    if before.mode() & 0o7777 != mode {
        // Only the owner may; for others the system has taken these bits away with the first byte.
        let _ = attributes::set_mode(&file, mode);
    }
    Ok(())
}

/// Brings the content to the disk. Nothing of what is there goes before something stands in its place.
fn overwrite(file: &mut File, content: Content<'_>) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    content(file)?;
    let length = file.stream_position()?;
    file.set_len(length)?;
    file.sync_all()
}

/// The old content, on the disk. Removed unless it is kept.
struct Copy {
    path: Option<PathBuf>,
    file: File,
}

impl Copy {
    fn of(file: &mut File, target: &Path, scratch: &Path) -> io::Result<Self> {
        let beside = target.parent().unwrap_or(Path::new("/"));
        let mut copy = match Self::create(beside, target) {
            Err(error) if super::not_in_this_directory(&error) => Self::create(scratch, target)?,
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
        let name = target.file_name().unwrap_or_default().as_bytes();
        let mut path = b".".to_vec();
        path.extend_from_slice(&name[..name.len().min(NAME)]);
        path.extend_from_slice(format!(".agentese-{number:016x}.old").as_bytes());
        let path = directory.join(OsString::from_vec(path));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { path: Some(path), file })
    }

    /// Writes it back. Its blocks are still those of the target, so that a full disk does not keep it from that.
    fn back_into(&self, target: &mut File, length: u64) -> io::Result<()> {
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

impl Drop for Copy {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}
