//! The complete output of a command, up to a limit.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::output_capture::OutputCapture;

/// The output of a command, or its beginning and end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FullOutput {
    pub text: String,
    /// `true` if a part of the output is missing.
    pub truncated: bool,
}

impl OutputCapture {
    /// Returns the complete output of a command. If it has more than `limit` bytes, returns its beginning and
    /// its end with a note between them. If the file with the output cannot be read, returns only the end.
    pub(super) async fn full_output(&self, limit: usize) -> FullOutput {
        let text = self.since(0);
        if text.len() as u64 == self.bytes() {
            return FullOutput { text: text.to_owned(), truncated: false };
        }
        let path = self.path().map(Path::to_owned);
        let read = tokio::task::spawn_blocking(move || path.and_then(|path| read(&path, limit).ok())).await;
        let mut output =
            read.ok().flatten().unwrap_or_else(|| FullOutput { text: self.tail().content, truncated: true });
        output.truncated |= self.missing_part().is_some();
        output
    }
}

fn read(path: &Path, limit: usize) -> io::Result<FullOutput> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= limit as u64 {
        file.read_to_end(&mut bytes)?;
        return Ok(FullOutput { text: String::from_utf8_lossy(&bytes).into_owned(), truncated: false });
    }
    let half = limit / 2;
    bytes.resize(half, 0);
    file.read_exact(&mut bytes)?;
    // An incomplete character is omitted.
    let incomplete = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    let head = String::from_utf8_lossy(&bytes[..half - incomplete.min(3)]).into_owned();
    file.seek(SeekFrom::End(-(half as i64)))?;
    file.read_exact(&mut bytes)?;
    let from = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    let tail = String::from_utf8_lossy(&bytes[from..]);
    let left_out = length - 2 * half as u64;
    Ok(FullOutput {
        text: format!("{head}\n\n[{left_out} bytes are left out here]\n\n{tail}"),
        truncated: true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::truncate::Limits;
    use super::*;

    #[tokio::test]
    async fn an_output_is_given_whole_or_by_its_ends() {
        let directory = tempfile::tempdir().unwrap();
        let captured = |text: &str| {
            let mut capture =
                OutputCapture::new(directory.path(), 1 << 20, Limits { max_lines: 5, max_bytes: 20 }, false);
            capture.push(text.as_bytes());
            capture.finish();
            capture
        };
        let whole = |text: &str| FullOutput { text: text.to_owned(), truncated: false };
        assert_eq!(captured("short").full_output(30).await, whole("short"));
        let middle = "0123456789".repeat(10);
        assert_eq!(captured(&middle).full_output(100).await, whole(&middle));
        let long = captured(&format!("ä{middle}ö"));
        let ends = long.full_output(11).await;
        assert_eq!(ends.text, "ä012\n\n[94 bytes are left out here]\n\n789ö");
        assert!(ends.truncated);
        // An incomplete character is omitted at both ends.
        let wide = captured(&"ö".repeat(60)).full_output(30).await;
        let end = "ö".repeat(7);
        assert_eq!(wide.text, format!("{end}\n\n[90 bytes are left out here]\n\n{end}"));
        // The file only contains the beginning.
        let limits = Limits { max_lines: 5, max_bytes: 20 };
        let mut beyond = OutputCapture::new(directory.path(), 40, limits, false);
        beyond.push(middle.as_bytes());
        beyond.finish();
        let beginning = beyond.full_output(1000).await;
        assert!(beginning.truncated && beginning.text.starts_with(&middle[..40]), "{beginning:?}");
        assert!(!beginning.text.contains(&middle[..41]), "{beginning:?}");
        std::fs::remove_file(long.path().unwrap()).unwrap();
        assert_eq!(long.full_output(10).await, FullOutput { text: long.tail().content, truncated: true });
    }
}
