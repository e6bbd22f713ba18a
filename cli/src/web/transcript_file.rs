//! File of a recorded session. It must be a regular file, short enough for the page.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use serde_json::Value;

/// Maximum length of the file in bytes. The page holds several copies of the content in memory.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Version in the header of a transcript.
const TRANSCRIPT_VERSION: u64 = 1;

/// Reads a regular file of UTF-8. Fails at once for pipes, devices and files that are too long.
pub(super) fn read(path: &Path) -> io::Result<String> {
    // Without this flag, opening a pipe would wait for a writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        let kind = about.file_type();
        let kind = match () {
            () if kind.is_fifo() => "a pipe",
            () if kind.is_char_device() || kind.is_block_device() => "a device",
            () if kind.is_dir() => "a directory",
            () => "another kind of file",
        };
        return Err(invalid(format!("expected a regular file, found {kind}")));
    }
    let too_long =
        |bytes: u64| invalid(format!("the file has {bytes} bytes; the limit is {MAX_FILE_BYTES} bytes"));
    if about.len() > MAX_FILE_BYTES {
        return Err(too_long(about.len()));
    }
    let mut text = String::new();
    // The file may grow while it is read.
    let bytes = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)? as u64;
    if bytes > MAX_FILE_BYTES { Err(too_long(bytes)) } else { Ok(text) }
}

/// Checks that a text is a recording: its first line is the header of a transcript. Fails with the reason and with advice
/// for the user.
pub(super) fn check_header(text: &str) -> Result<(), &'static str> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let header: Value = serde_json::from_str(first).unwrap_or_default();
    match (header["transcript"].as_u64(), header["type"].as_str()) {
        (Some(TRANSCRIPT_VERSION), _) => Ok(()),
        (Some(_), _) => Err("the transcript has a version that this program does not know; known: 1"),
        (None, Some("session")) => {
            Err("expected a recording, found a session file; `agentese --export FILE` shows it as a page")
        }
        (None, _) => Err("expected a recording, but the first line is no header of a transcript; \
             `agentese-conformance record` and the page's inspector write recordings"),
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_the_header_of_a_transcript_is_rejected_with_its_kind() {
        assert_eq!(check_header("\n{\"transcript\":1,\"agent\":\"pi\"}\n"), Ok(()));
        for (text, reason) in [
            ("{\"type\":\"session\",\"version\":3}\n", "found a session file"),
            ("{\"transcript\":2}", "known: 1"),
            ("host name\n", "no header of a transcript"),
            ("", "no header of a transcript"),
        ] {
            assert!(check_header(text).unwrap_err().contains(reason), "{text}");
        }
    }

    #[test]
    fn only_regular_files_of_bounded_size_are_read() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("file"), "{}\n").unwrap();
        assert_eq!(read(&path("file")).unwrap(), "{}\n");
        let fifo = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(fifo.success());
        File::create(path("sparse")).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        for (file, reason) in [
            (path("pipe"), "expected a regular file, found a pipe"),
            ("/dev/zero".into(), "expected a regular file, found a device"),
            (place.path().to_owned(), "expected a regular file, found a directory"),
            (path("sparse"), "the file has 268435457 bytes; the limit is 268435456 bytes"),
        ] {
            assert_eq!(read(&file).unwrap_err().to_string(), reason);
        }
    }
}
