//! Reading of small text files of a user, with a limit on their length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::encoding::{Encoding, Utf8Converter};

/// The text of a file, cut if the file is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Text without a byte order mark, decoded from UTF-8, or from UTF-16 with a mark. Invalid bytes become replacement
    /// characters.
    pub text: String,
    /// `true` if the end is missing, because the file is longer than the limit.
    pub truncated: bool,
}

/// The reason why a file has no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextFileError {
    /// The system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The path is a directory, a pipe or a device. Reading these might never end.
    #[error("it is not a regular file")]
    NotRegular,
}

impl TextFileError {
    /// Returns true if the path does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}

/// Reads at most `limit` bytes of a regular file; a longer file is cut between characters. Fails if the path is not a
/// regular file or cannot be read. Never waits for a pipe.
pub fn read_text(path: &Path, limit: u64) -> Result<TextFile, TextFileError> {
    // Opening a pipe waits for its writer, so the check comes first.
    if !std::fs::metadata(path)?.is_file() {
        return Err(TextFileError::NotRegular);
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let cut = bytes.len() > limit;
    let encoding = Encoding::of(&bytes);
    if encoding != Encoding::Utf8 {
        bytes.truncate(limit);
        let mut reader = Utf8Converter::new(encoding);
        let mut text = reader.push(&bytes).into_owned();
        // Half of a character at the cut is left out.
        text.extend_from_slice(if cut { b"" } else { reader.finish() });
        return Ok(TextFile { text: String::from_utf8_lossy(&text).into_owned(), truncated: cut });
    }
    if cut {
        let mut end = limit;
        while end > 0 && bytes[end] & 0xC0 == 0x80 {
            end -= 1;
        }
        bytes.truncate(end);
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
    Ok(TextFile { text, truncated: cut })
}

/// Reads a whole regular file as text. Fails as [`std::fs::read_to_string`] does, and if the path is not a regular
/// file, because opening a pipe would wait for its writer.
pub fn read_regular(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, TextFileError::NotRegular));
    }
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_cut_at_a_character_and_loses_its_mark() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "\u{feff}aé").unwrap();
        let read = |limit| read_text(&path, limit).unwrap();
        assert_eq!(read(6), TextFile { text: "aé".to_owned(), truncated: false });
        assert_eq!(read(5), TextFile { text: "a".to_owned(), truncated: true });
        std::fs::write(&path, b"a\xffb").unwrap();
        assert_eq!(read(9).text, "a\u{fffd}b");
    }

    #[test]
    fn a_file_in_utf_16_is_read_by_its_mark() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            std::fs::write(&path, encoding.encode_file("aé😀")).unwrap();
            let read = |limit| read_text(&path, limit).unwrap();
            assert_eq!(read(10), TextFile { text: "aé😀".to_owned(), truncated: false });
            assert_eq!(read(9), TextFile { text: "aé".to_owned(), truncated: true });
            assert_eq!(read(5), TextFile { text: "a".to_owned(), truncated: true });
            std::fs::write(&path, encoding.encode("\u{feff}x\u{feff}")).unwrap();
            assert_eq!(read(99).text, "x\u{feff}");
        }
    }

    #[test]
    fn a_path_that_is_not_a_regular_file_is_rejected_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(matches!(read_text(&pipe, 9), Err(TextFileError::NotRegular)));
        assert!(matches!(read_text(directory.path(), 9), Err(TextFileError::NotRegular)));
        assert_eq!(read_regular(&pipe).unwrap_err().to_string(), "it is not a regular file");
        let missing = read_text(&directory.path().join("none"), 9).unwrap_err();
        assert!(missing.is_not_found());
    }
}
