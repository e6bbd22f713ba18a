//! Reading of session files and writing of exports.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::NamedTempFile;

use super::fields::{optional_text, text};
use super::stored_entries::StoredEntries;
use super::{ExportInput, MARKER, write_html};
use agentese_server_base::os_error;

/// The size of the write buffer for a page, in bytes.
const BUFFER: usize = 64 << 10;

/// The reason why a session was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A system call failed. Displays as pi does: `ENOENT: no such file or directory, open '/a/b'`.
    #[error("{}", os_error::describe(source, "open", path))]
    System {
        /// The path of the call.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The target exists and is not an export of this program. The target stays unchanged.
    #[error("EEXIST: file already exists and is not an export, open '{}'", .path.display())]
    Occupied {
        /// Path of the target.
        path: PathBuf,
    },
    /// The file to export does not begin with the header of a session.
    #[error("{} is not a session file", .path.display())]
    NoSession {
        /// Path of the file to export.
        path: PathBuf,
    },
}

/// The content of a session file.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionContent {
    /// The first line.
    pub header: Value,
    /// The other lines, in order.
    pub entries: StoredEntries,
    /// Number of lines that were skipped because they are not JSON objects, as after a crash.
    pub skipped: usize,
}

/// Reads a session file. Fails if the file cannot be read, is not a regular file, or is not a session.
pub fn from_file(session_file: &Path) -> Result<SessionContent, ExportError> {
    let no_session = || ExportError::NoSession { path: session_file.to_owned() };
    let system = |source| ExportError::System { path: session_file.to_owned(), source };
    // Opening a pipe would wait for a writer.
    if !fs::metadata(session_file).map_err(system)?.is_file() {
        return Err(no_session());
    }
    let mut reader = BufReader::new(File::open(session_file).map_err(system)?);
    let (mut header, mut lines, mut skipped) = (None, Vec::new(), 0);
    let (mut line, mut at) = (Vec::new(), 0);
    loop {
        at += line.len() as u64;
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(system)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let value = serde_json::from_slice::<Value>(&line).ok().filter(Value::is_object);
        match value {
            Some(_) if header.is_some() => lines.push((at, line.len())),
            None if header.is_some() => skipped += 1,
            Some(value) if is_header(&value) => header = Some(value),
            _ => return Err(no_session()),
        }
    }
    let entries = StoredEntries::new(reader.into_inner(), lines);
    header.map(|header| SessionContent { header, entries, skipped }).ok_or_else(no_session)
}

fn is_header(value: &Value) -> bool {
    text(value, "type") == "session" && optional_text(value, "id").is_some()
}

/// Returns the default name of a session's export: `<prefix>-<name of the session file>.html`. The name is a
/// relative path.
pub fn default_name(prefix: &str, session_file: &Path) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push("-");
    name.push(session_file.file_stem().unwrap_or_default());
    name.push(".html");
    name.into()
}

/// Writes the export to a file that only its owner can read. An earlier export is replaced. The file appears
/// complete or not at all. Fails without a change if `target` is not a regular file, or is not an export.
pub fn write(input: &ExportInput, target: &Path) -> Result<(), ExportError> {
    let system = |source| ExportError::System { path: target.to_owned(), source };
    let occupied = || ExportError::Occupied { path: target.to_owned() };
    let replaces = match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_dir() => return Err(system(rustix::io::Errno::ISDIR.into())),
        Ok(metadata) if metadata.is_file() && is_export(target).map_err(system)? => true,
        Ok(_) => return Err(occupied()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(system(error)),
    };
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    crate::atomic_write::sweep(directory);
    let mut temporary = create_temporary(directory).map_err(system)?;
    let mut out = BufWriter::with_capacity(BUFFER, temporary.as_file_mut());
    write_html(input, &mut out).and_then(|()| out.flush()).map_err(system)?;
    drop(out);
    temporary.as_file().sync_all().map_err(system)?;
    // Another program may have created the file in the meantime.
    let persisted = if replaces { temporary.persist(target) } else { temporary.persist_noclobber(target) };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(occupied()),
        Err(error) => Err(system(error.error)),
    }
}

/// Creates an empty file that only its owner can read, regardless of the umask. Dropping the file removes it,
/// unless it was renamed.
fn create_temporary(directory: &Path) -> io::Result<NamedTempFile> {
    // The error of the library does not contain the system's code.
    let mut code = None;
    let create = |path: &Path| {
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        created.inspect_err(|error| code = error.raw_os_error())
    };
    let created_file =
        tempfile::Builder::new().prefix(".agentese-").suffix(".tmp").make_in(directory, create);
    created_file.map_err(|error| code.map_or(error, io::Error::from_raw_os_error))
}

fn is_export(target: &Path) -> io::Result<bool> {
    let mut start = String::new();
    let longest = "<!DOCTYPE html>\n".len() + MARKER.len();
    let read = File::open(target)?.take(longest as u64).read_to_string(&mut start);
    match read {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(false),
        Err(error) => Err(error),
        Ok(_) => Ok(start.strip_prefix("<!DOCTYPE html>\n") == Some(MARKER)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Entries;
    use serde_json::json;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn export(target: &Path) -> Result<(), ExportError> {
        write(&ExportInput::new(&json!({"type": "session", "id": "s"}), &[] as &[Value; 0]), target)
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn names_follow_the_session_file() {
        let file = Path::new("/s/2026-11-21T20-34-21-270Z_5d15c2cb.jsonl");
        assert_eq!(
            default_name("pi-session", file),
            Path::new("pi-session-2026-11-21T20-34-21-270Z_5d15c2cb.html")
        );
    }

    #[test]
    fn fm_f112_only_exports_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path_of = |name: &str| directory.path().join(name);
        export(&path_of("a.html")).unwrap();
        let first = fs::read(path_of("a.html")).unwrap();
        export(&path_of("a.html")).unwrap();
        assert_eq!(fs::read(path_of("a.html")).unwrap(), first);

        for content in
            ["", "precious", "<!DOCTYPE html>\n<html>", &format!("{MARKER}\n"), "<!DOCTYPE html>\n<!-- ag"]
        {
            fs::write(path_of("b"), content).unwrap();
            let error = export(&path_of("b")).unwrap_err().to_string();
            let path = path_of("b");
            assert_eq!(
                error,
                format!("EEXIST: file already exists and is not an export, open '{}'", path.display())
            );
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        fs::write(path_of("b"), b"\xff\xfe").unwrap();
        assert!(matches!(export(&path_of("b")), Err(ExportError::Occupied { .. })));
        symlink("a.html", path_of("link")).unwrap();
        symlink("nowhere", path_of("dangling")).unwrap();
        for name in ["link", "dangling"] {
            assert!(matches!(export(&path_of(name)), Err(ExportError::Occupied { .. })), "{name}");
        }
        assert!(matches!(export(Path::new("/dev/null")), Err(ExportError::Occupied { .. })));
        assert_eq!(names(directory.path()), ["a.html", "b", "dangling", "link"]);
    }

    #[test]
    fn fm_f110_the_owner_alone_may_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.html");
        for _ in 0..2 {
            export(&file).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }

    #[test]
    fn errors_have_pis_shape() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("no/such/a.html");
        let text = |error: ExportError| error.to_string();
        assert_eq!(
            text(export(&file).unwrap_err()),
            format!("ENOENT: no such file or directory, open '{}'", file.display())
        );
        let path = directory.path();
        assert_eq!(
            text(export(path).unwrap_err()),
            format!("EISDIR: illegal operation on a directory, open '{}'", path.display())
        );
        fs::write(path.join("f"), "").unwrap();
        assert!(
            text(export(&path.join("f/a.html")).unwrap_err()).starts_with("ENOTDIR: not a directory, open")
        );
        assert!(text(from_file(&path.join("none")).unwrap_err()).starts_with("ENOENT: "));
        assert_eq!(
            text(export(Path::new("/proc/a.html")).unwrap_err()),
            "ENOENT: no such file or directory, open '/proc/a.html'"
        );
    }

    #[test]
    fn session_files_are_read_and_others_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("s.jsonl");
        fs::write(
            &file,
            "{\"type\":\"session\",\"id\":\"s\"}\n\n{\"type\":\"x\"}\nbroken\n7\n{\"type\":\"y\"}\n{\"to",
        )
        .unwrap();
        let read = from_file(&file).unwrap();
        assert_eq!(read.header["id"], "s");
        assert_eq!((read.entries.count(), read.skipped), (2, 3));
        assert_eq!(*read.entries.entry(1), json!({"type": "y"}));
        fs::write(&file, "").unwrap();
        assert_eq!(*read.entries.entry(1), Value::Null, "a line that was removed");
        for content in
            ["", "\n", "text", "{}\n", "{\"type\":\"session\"}\n", "{\"type\":\"message\",\"id\":\"a\"}\n"]
        {
            fs::write(&file, content).unwrap();
            assert!(matches!(from_file(&file), Err(ExportError::NoSession { .. })), "{content:?}");
        }
        assert!(matches!(from_file(directory.path()), Err(ExportError::NoSession { .. })));
        assert!(matches!(from_file(Path::new("/dev/zero")), Err(ExportError::NoSession { .. })));
    }
}
