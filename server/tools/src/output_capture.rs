//! Capture of a command's output in constant memory. The end of the output is in memory. If the output is long, all of
//! it is also in a file.

use std::path::{Path, PathBuf};

use super::Cleaner;
use super::output_file::OutputFile;
use super::terminal::{Screen, SizeTracker};
use super::truncate::{Limits, TextSize, Truncation, char_boundary_from, format_size, truncate_tail_of};
use super::utf8_decoder::Utf8Decoder;
use crate::os_error;

/// Number of bytes kept beyond the limit. They show if the first line within the limit is complete.
const MARGIN: usize = 8;

/// Captures the output of a command, and creates a file if the output exceeds the limits. Never fails:
/// [`OutputCapture::location_note`] reports problems with the file.
#[derive(Debug)]
pub struct OutputCapture {
    limits: Limits,
    decoder: Utf8Decoder,
    cleaner: Option<Cleaner>,
    /// The end of the text. If the text is shorter than twice the limit, contains all of it; otherwise at least the
    /// limit and the margin.
    window: String,
    size: SizeTracker,
    /// The output as a terminal would show it.
    screen: Screen,
    file: FileState,
    temp_dir: PathBuf,
    file_limit: u64,
}

#[derive(Debug)]
enum FileState {
    /// There is no file, because the output does not exceed the limits. These bytes would be the beginning of the file.
    NotNeeded(Vec<u8>),
    Open(OutputFile),
    Failed(String),
}

impl OutputCapture {
    /// Creates an empty capture. With `clean`, escape sequences and control characters are removed, in the file too.
    pub fn new(temp_dir: &Path, file_limit: u64, limits: Limits, clean: bool) -> Self {
        Self {
            limits,
            decoder: Utf8Decoder::default(),
            cleaner: clean.then(Cleaner::default),
            window: String::new(),
            size: SizeTracker::new(),
            screen: Screen::new(limits.max_bytes),
            file: FileState::NotNeeded(Vec::new()),
            temp_dir: temp_dir.to_owned(),
            file_limit,
        }
    }

    /// Returns true if adding this number of bytes can block, because it can write to the file.
    pub fn may_block(&self, bytes: usize) -> bool {
        match self.file {
            FileState::NotNeeded(_) => {
                // Every byte may be a newline, or become a replacement character of three bytes. The same is true for
                // three bytes of an incomplete character.
                let lines = self.size.total.lines + bytes as u64;
                let most = TextSize { lines, bytes: self.size.total.bytes + 3 * (bytes as u64 + 3) };
                !most.fit(self.limits)
            }
            FileState::Open(_) => true,
            FileState::Failed(_) => false,
        }
    }

    /// Adds a chunk.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut text = String::new();
        self.decoder.push(bytes, &mut text);
        self.append(bytes, text);
    }

    /// Adds the text of an incomplete character at the end of the output.
    pub fn finish(&mut self) {
        let mut text = String::new();
        self.decoder.finish(&mut text);
        self.append(&[], text);
    }

    fn append(&mut self, raw: &[u8], mut text: String) {
        self.screen.push(&text);
        if let Some(cleaner) = &mut self.cleaner {
            let mut cleaned = String::with_capacity(text.len());
            cleaner.push(&text, &mut cleaned);
            text = cleaned;
        }
        self.size.push(&text);
        let bytes = if self.cleaner.is_some() { text.as_bytes() } else { raw };
        match &mut self.file {
            FileState::NotNeeded(beginning) => {
                beginning.extend_from_slice(bytes);
                if !self.size.total.fit(self.limits) {
                    let beginning = std::mem::take(beginning);
                    self.file = match OutputFile::create(&self.temp_dir, self.file_limit) {
                        Ok(mut file) => {
                            file.write(&beginning);
                            FileState::Open(file)
                        }
                        Err(error) => FileState::Failed(os_error::describe(&error, "open", &self.temp_dir)),
                    };
                }
            }
            FileState::Open(file) => file.write(bytes),
            FileState::Failed(_) => {}
        }
        self.window.push_str(&text);
        if self.window.len() > 2 * self.limits.max_bytes {
            let from = self.window.len().saturating_sub(self.limits.max_bytes + MARGIN);
            self.window.drain(..char_boundary_from(&self.window, from));
            // A chunk of invalid bytes may have tripled the buffer for a moment.
            self.window.shrink_to(2 * self.limits.max_bytes);
        }
    }

    /// Returns true if there is no text yet.
    pub fn is_empty(&self) -> bool {
        self.size.total.bytes == 0
    }

    /// Returns the number of bytes of text so far.
    pub fn bytes(&self) -> u64 {
        self.size.total.bytes
    }

    /// Returns the text after its first `seen` bytes. If a part of it is no longer in memory, returns the rest.
    pub fn since(&self, seen: u64) -> &str {
        let new = usize::try_from(self.size.total.bytes.saturating_sub(seen)).unwrap_or(usize::MAX);
        let from = self.window.len().saturating_sub(new);
        &self.window[char_boundary_from(&self.window, from)..]
    }

    /// Returns the end of the text so far, without an incomplete character. The result is the text that a terminal
    /// shows if `clean` is set, or if a long text was overwritten in parts.
    pub fn tail(&self) -> Truncation {
        if self.is_drawn() {
            return truncate_tail_of(&self.screen.text(), self.screen.total(), self.limits);
        }
        truncate_tail_of(&self.window, self.size.total, self.limits)
    }

    fn is_drawn(&self) -> bool {
        self.cleaner.is_some() || (!self.size.total.fit(self.limits) && self.screen.is_redrawn())
    }

    /// Returns the size in bytes of the last line, of which a tail may show only the end.
    pub fn cut_line_size(&self) -> u64 {
        if self.is_drawn() { self.screen.last_line() } else { self.size.last_line() }
    }

    /// Returns the path of the file with the full output. Returns `None` if the output does not exceed the limits, or
    /// if the file could not be created.
    pub fn path(&self) -> Option<&Path> {
        match &self.file {
            FileState::Open(file) => Some(file.path()),
            FileState::NotNeeded(_) | FileState::Failed(_) => None,
        }
    }

    /// Describes the part of the output that is missing in the file, if a part is missing.
    pub(super) fn missing_part(&self) -> Option<&str> {
        match &self.file {
            FileState::Open(file) => file.note(),
            FileState::NotNeeded(_) | FileState::Failed(_) => None,
        }
    }

    /// Returns a sentence with the path of the full output and its missing part. Returns `None` if no file is needed.
    pub fn location_note(&self) -> Option<String> {
        match &self.file {
            FileState::NotNeeded(_) => None,
            FileState::Open(file) => {
                let note = self.missing_part().map(|note| format!(" ({note})")).unwrap_or_default();
                Some(format!("Full output: {}{note}", file.path().display()))
            }
            FileState::Failed(reason) => Some(format!("The full output could not be saved: {reason}")),
        }
    }

    /// Returns a notice for the model about a truncated output: the visible lines, the number of all lines, and the
    /// path of the full output. Returns `None` if the output is complete.
    pub fn notice(&self, tail: &Truncation) -> Option<String> {
        use super::truncate::TruncatedBy::{Bytes, Lines};
        let location = self.location_note().unwrap_or_default();
        let (total, first) = (tail.total_lines, tail.total_lines + 1 - tail.output_lines);
        Some(match tail.truncated_by? {
            Bytes if tail.last_line_partial => format!(
                "[Showing last {} of line {first} (line is {}). {location}]",
                format_size(tail.output_bytes),
                format_size(self.cut_line_size())
            ),
            Lines => format!("[Showing lines {first}-{total} of {total}. {location}]"),
            Bytes => {
                let limit = format_size(self.limits.max_bytes as u64);
                format!("[Showing lines {first}-{total} of {total} ({limit} limit). {location}]")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal::render;
    use super::super::truncate::truncate_tail;
    use super::*;
    use proptest::prelude::*;

    fn capture(directory: &Path, max_lines: usize, max_bytes: usize, clean: bool) -> OutputCapture {
        OutputCapture::new(directory, 1000, Limits { max_lines, max_bytes }, clean)
    }

    #[test]
    fn small_outputs_need_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = capture(directory.path(), 10, 100, false);
        capture.push(b"one\ntwo\n");
        capture.finish();
        assert_eq!(capture.tail().content, "one\ntwo\n");
        assert_eq!((capture.path(), capture.notice(&capture.tail())), (None, None));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn one_endless_line_shows_its_end_and_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = capture(directory.path(), 10, 100, false);
        for _ in 0..50 {
            capture.push(&[b'x'; 10]);
        }
        capture.push(b"end\n");
        capture.finish();
        let tail = capture.tail();
        assert!(tail.content.ends_with("xend\n") && tail.last_line_partial);
        let path = capture.path().unwrap().display().to_string();
        assert_eq!(
            capture.notice(&tail).unwrap(),
            format!("[Showing last 100B of line 1 (line is 503B). Full output: {path}]")
        );
        assert_eq!(std::fs::read(path).unwrap().len(), 504);
    }

    #[test]
    fn a_file_that_cannot_be_created_is_reported() {
        let mut capture = capture(Path::new("/nowhere"), 1, 100, false);
        capture.push(b"a\nb");
        let notice = capture.notice(&capture.tail()).unwrap();
        assert_eq!(
            notice,
            "[Showing lines 2-2 of 2. The full output could not be saved: ENOENT: no such file or directory, open \
             '/nowhere']"
        );
    }

    #[test]
    fn control_characters_alone_leave_a_long_output_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mut capture = capture(directory.path(), 10, 100, false);
        capture.push(&[0; 120]);
        capture.push(b"\r\n\x1b[31mred\x1b[0m\r\n");
        capture.finish();
        assert!(capture.tail().truncated());
        assert_eq!(capture.tail().content, "\x1b[31mred\x1b[0m\r\n");
    }

    #[test]
    fn a_long_output_is_drawn_before_it_is_cut_and_its_file_has_every_byte() {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { max_lines: 10, max_bytes: 100 };
        let mut capture = OutputCapture::new(directory.path(), 1 << 20, limits, false);
        let frames: String = (0..500).map(|frame| format!("\x1b[2K\r{frame}/499")).collect();
        let output = format!("one\n{frames}\ntwo\n");
        capture.push(output.as_bytes());
        capture.finish();
        let tail = capture.tail();
        assert_eq!((tail.content.as_str(), tail.truncated()), ("one\n499/499\ntwo\n", false));
        assert_eq!(std::fs::read(capture.path().unwrap()).unwrap(), output.as_bytes());
    }

    proptest! {
        #[test]
        fn fm_f78_any_chunks_give_the_tail_of_the_decoded_text_and_the_whole_file(
            parts in prop::collection::vec(prop_oneof![
                "[ab\u{e9}\n\x1b\\[m]{0,30}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..9),
            ], 0..12),
            size in 1usize..9, clean in any::<bool>(),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let limits = Limits { max_lines: 5, max_bytes: 20 };
            let mut capture = OutputCapture::new(directory.path(), 1000, limits, clean);
            let bytes = parts.concat();
            for chunk in bytes.chunks(size) {
                let could = capture.may_block(chunk.len());
                capture.push(chunk);
                prop_assert!(could || capture.path().is_none());
                prop_assert!(capture.window.len() <= 2 * limits.max_bytes);
            }
            capture.finish();
            let raw = String::from_utf8_lossy(&bytes).into_owned();
            let text = if clean { super::super::clean(&raw) } else { raw.clone() };
            let all = if clean { text.clone().into_bytes() } else { bytes };
            let fits = TextSize::of(&text).fit(limits);
            let mut screen = Screen::new(1000);
            screen.push(&raw);
            let drawn = clean || (!fits && screen.is_redrawn());
            let shown = if drawn { render(&raw).into_owned() } else { raw };
            prop_assert_eq!(capture.tail(), truncate_tail(&shown, limits));
            prop_assert_eq!(capture.path().is_none(), fits);
            if let Some(path) = capture.path() {
                prop_assert_eq!(std::fs::read(path).unwrap(), all);
            }
        }
    }
}
