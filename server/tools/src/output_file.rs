//! The file with the full output of a command.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::truncate::format_size;
use crate::os_error;

/// Default maximum size in bytes of the file with the output of a command.
pub const DEFAULT_OUTPUT_FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// A file that only its owner can read, with an unpredictable name. After a failed write, the file stays as
/// it is, and the command continues. [`OutputFile::note`] then describes the missing part.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    file: Option<File>,
    bytes_left: u64,
    limit: u64,
    note: Option<String>,
}

impl OutputFile {
    /// Creates a file `pi-bash-<16 hex digits>.log`. Fails if this is not possible in the directory.
    pub fn create(directory: &Path, limit: u64) -> io::Result<Self> {
        Self::create_named("pi-bash", directory, limit)
    }

    /// Creates a file as [`OutputFile::create`] does, with another name: `NAME-<16 hex digits>.log`.
    pub fn create_named(name: &str, directory: &Path, limit: u64) -> io::Result<Self> {
        let mut attempts = 0;
        loop {
            let path = directory.join(format!("{name}-{}.log", random_hex()?));
            // Exclusive creation rejects any existing file, including a symlink placed in the way.
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file), bytes_left: limit, limit, note: None }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts < 8 => attempts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes the part of the output that is missing in the file, if a part is missing.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Appends bytes, up to the limit.
    pub fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let fits = usize::try_from(self.bytes_left).unwrap_or(usize::MAX).min(bytes.len());
        let mut written = file.write_all(&bytes[..fits]);
        self.bytes_left -= fits as u64;
        if written.is_ok() && fits < bytes.len() {
            let limit = format_size(self.limit);
            written = file
                .write_all(format!("\n[The output goes on; only the first {limit} are kept.]\n").as_bytes());
            self.stop(format!("first {limit} only"));
        }
        if let Err(error) = written {
            self.stop(format!("incomplete: {}", os_error::reason(&error)));
        }
    }

    fn stop(&mut self, note: String) {
        self.file = None;
        self.note = Some(note);
    }
}

/// Returns sixteen random hexadecimal digits from the operating system.
pub(crate) fn random_hex() -> io::Result<String> {
    let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{number:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn fm_f114_names_are_random_and_files_private() {
        let directory = tempfile::tempdir().unwrap();
        let mut names = std::collections::HashSet::new();
        for _ in 0..50 {
            let file = OutputFile::create(directory.path(), 10).unwrap();
            let name = file.path().file_name().unwrap().to_str().unwrap().to_owned();
            let digits = name.strip_prefix("pi-bash-").unwrap().strip_suffix(".log").unwrap();
            assert!(digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
            assert_eq!(file.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert!(names.insert(name));
        }
    }

    #[test]
    fn the_file_stops_at_its_limit_with_a_note() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = OutputFile::create(directory.path(), 10).unwrap();
        file.write(b"0123456789");
        assert_eq!(file.note(), None);
        file.write(b"abc");
        file.write(b"def");
        assert_eq!(file.note(), Some("first 10B only"));
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, "0123456789\n[The output goes on; only the first 10B are kept.]\n");
    }

    #[test]
    fn a_directory_that_is_gone_is_an_error() {
        assert!(OutputFile::create(Path::new("/nowhere/at/all"), 10).is_err());
    }
}
