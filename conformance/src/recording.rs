//! Records of a played case or a recorded session, in the format of transcript files.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use agentese::types::{
    Direction, LinePart, LineRepeat, TranscriptControl, TranscriptHeader, TranscriptLine, TranscriptNote,
    TranscriptRecord,
};
use agentese::wire::Maybe;
use serde_json::Value;
use tokio::sync::watch;

use crate::transcript::{Transcript, TranscriptError};

/// Length in bytes from which a line is searched for long repetitions of one character.
const LONG_LINE: usize = 64 << 10;
/// Length in bytes from which the repetition of a character is written in short form.
const LONG_RUN: usize = 1024;

/// Name of the event that precedes a line of the agent with invalid UTF-8. In the recorded line, replacement
/// characters stand for the invalid bytes.
pub const NOT_UTF8: &str = "not_utf8";

/// Recorder of a transcript. Several tasks can add to it, or wait for changes.
#[derive(Debug)]
pub struct Recorder {
    start: Instant,
    log: Mutex<Log>,
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<TranscriptRecord>,
    /// Frames of the agent; `None` for a line that is not JSON.
    frames: Vec<Option<Value>>,
    /// Time of the last line.
    last: Option<Instant>,
    /// `true` after the end of the agent's output.
    ended: bool,
}

impl Default for Recorder {
    fn default() -> Self {
        Self { start: Instant::now(), log: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Recorder {
    fn change<T>(&self, change: impl FnOnce(&mut Log, serde_json::Number) -> T) -> T {
        self.change_at(None, change)
    }

    /// Changes the log and notifies waiting tasks. The recorded time is `at`, or the current time if `at` is
    /// `None`.
    fn change_at<T>(&self, at: Option<Instant>, change: impl FnOnce(&mut Log, serde_json::Number) -> T) -> T {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let since = at.unwrap_or_else(Instant::now).saturating_duration_since(self.start);
        let now = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let result = change(&mut log, now.into());
        drop(log);
        self.changed.send_replace(());
        result
    }

    /// Records a line from the agent. `eol` is the end of the line if it is not a line feed.
    pub fn received(&self, line: &str, eol: Option<&str>) {
        self.received_at(line, eol, None);
    }

    fn received_at(&self, line: &str, eol: Option<&str>, at: Option<Instant>) {
        self.change_at(at, |log, now| {
            log.records.push(TranscriptRecord::Line(record(Direction::S2c, now, line, eol)));
            log.frames.push(serde_json::from_str(line).ok());
            log.last = Some(Instant::now());
        });
    }

    /// Records the bytes of a line from the agent. `at` is the time at which the line was read. `eol` is as
    /// in [`received`](Self::received).
    pub fn received_bytes(&self, line: &[u8], eol: Option<&str>, at: Instant) {
        let text = String::from_utf8_lossy(line);
        if matches!(text, Cow::Owned(_)) {
            self.control(NOT_UTF8, None);
        }
        self.received_at(&text, eol, Some(at));
    }

    /// Records text that was sent to the agent: whole lines, and possibly the beginning of another one.
    pub fn sent(&self, text: &str) {
        self.change(|log, now| {
            let mut rest = text;
            while !rest.is_empty() {
                let (line, after, eol) = match rest.split_once('\n') {
                    None => (rest, "", Some("")),
                    Some((line, after)) => match line.strip_suffix('\r') {
                        Some(line) => (line, after, Some("\r\n")),
                        None => (line, after, None),
                    },
                };
                log.records.push(TranscriptRecord::Line(record(Direction::C2s, now.clone(), line, eol)));
                rest = after;
            }
        });
    }

    /// Records an event that is not a line, such as a signal.
    pub fn control(&self, event: &str, text: Option<String>) {
        self.change(|log, now| {
            let mut control = TranscriptControl::new(event);
            control.t = Some(now);
            control.text = text;
            log.records.push(TranscriptRecord::Control(control));
        });
    }

    /// Records the end of the agent.
    pub fn exit(&self, event: &str, code: Option<i64>, stderr: Option<String>) {
        self.change(|log, now| {
            let mut control = TranscriptControl::new(event);
            control.t = Some(now);
            control.code = code.map_or(Maybe::Null, Maybe::Value);
            control.stderr = stderr.map_or(Maybe::Absent, Maybe::Value);
            log.records.push(TranscriptRecord::Control(control));
        });
    }

    /// Records a remark as a note.
    pub fn note(&self, text: &str) {
        self.change(|log, now| {
            let mut note = TranscriptNote::new(text);
            note.t = Some(now);
            log.records.push(TranscriptRecord::Note(note));
        });
    }

    /// Records the end of the agent's output.
    pub fn end(&self) {
        self.change(|log, _| log.ended = true);
    }

    /// Returns a receiver that is notified of every change.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns the number of frames so far. The flag is `true` if more frames can follow.
    pub(crate) fn progress(&self) -> (usize, bool) {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        (log.frames.len(), !log.ended)
    }

    /// Continues the record after the end of the agent's output, because another process follows.
    pub(crate) fn resume(&self) {
        self.change(|log, _| log.ended = false);
    }

    /// Returns the time of the last line.
    pub(crate) fn last_received(&self) -> Option<Instant> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    /// Returns the first frame for which `fits` returns `true`, and its position. Searches from the position
    /// `from` on.
    pub(crate) fn find(&self, from: usize, fits: impl Fn(&Value) -> bool) -> Option<(usize, Value)> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let frames = log.frames.iter().enumerate().skip(from);
        let mut frames = frames.filter_map(|(at, frame)| Some((at, frame.as_ref()?)));
        frames.find(|(_, frame)| fits(frame)).map(|(at, frame)| (at, frame.clone()))
    }

    /// Returns the records so far.
    pub fn records(&self) -> Vec<TranscriptRecord> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).records.clone()
    }
}

fn record(dir: Direction, now: serde_json::Number, line: &str, eol: Option<&str>) -> TranscriptLine {
    let mut record = TranscriptLine::new(dir);
    record.t = Some(now);
    record.line = Some(line.to_owned());
    record.eol = eol.map_or(Maybe::Absent, |eol| Maybe::Value(eol.to_owned()));
    record
}

/// Transcript that was recorded completely.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Header of the transcript.
    pub header: TranscriptHeader,
    /// Records in order.
    pub records: Vec<TranscriptRecord>,
}

impl Recording {
    /// Reads a recording from a file.
    ///
    /// # Errors
    /// Names the file and the invalid line.
    pub fn load(path: &Path) -> Result<Self, TranscriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TranscriptError::Read { path: path.to_owned(), source })?;
        let header = Transcript::parse(path, &text)?.header;
        // `Transcript::parse` has already checked each line, so no line is skipped.
        let records = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let is_header = |record: &TranscriptRecord| matches!(record, TranscriptRecord::Header(_));
        Ok(Self { header, records: records.filter(|record| !is_header(record)).collect() })
    }

    /// Applies `change` to every text: lines, notes, stderr, arguments.
    pub fn map(mut self, change: impl Fn(&str) -> String) -> Self {
        let header = &mut self.header;
        if let Maybe::Value(arguments) = &mut header.argv {
            arguments.iter_mut().for_each(|argument| *argument = change(argument));
        }
        for record in &mut self.records {
            let texts: [Option<&mut String>; 2] = match record {
                TranscriptRecord::Line(line) => [line.line.as_mut(), None],
                TranscriptRecord::Note(note) => [Some(&mut note.line), None],
                TranscriptRecord::Control(control) => {
                    let stderr = match &mut control.stderr {
                        Maybe::Value(text) => Some(text),
                        _ => None,
                    };
                    [control.text.as_mut(), stderr]
                }
                TranscriptRecord::Header(_) => [None, None],
            };
            for text in texts.into_iter().flatten() {
                *text = change(text);
            }
        }
        self
    }

    /// Returns the text of the file: a JSON line for the header and for each record.
    pub fn text(&self) -> String {
        let mut out = serde_json::to_string(&self.header).unwrap_or_default();
        out.push('\n');
        for record in &self.records {
            let line = match record {
                TranscriptRecord::Line(line) => serde_json::to_string(in_parts(line).as_ref()),
                other => serde_json::to_string(other),
            };
            out.push_str(&line.unwrap_or_default());
            out.push('\n');
        }
        // Some JSON readers treat these characters as line ends, so they are escaped.
        for (character, escape) in [('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029"), ('\u{85}', "\\u0085")] {
            out = out.replace(character, escape);
        }
        out
    }

    /// Converts the recording to a transcript.
    ///
    /// # Errors
    /// Never for records from a [`Recorder`].
    pub fn transcript(&self) -> Result<Transcript, TranscriptError> {
        Transcript::parse(Path::new("recording"), &self.text())
    }

    /// Writes the file. A regular file is replaced as a whole. Other files, such as `/dev/stdout` or a pipe,
    /// are written to.
    ///
    /// # Errors
    /// If the system reports an error.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return std::fs::write(path, self.text());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, self.text().as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Returns the line with long repetitions of a character in short form. Returns any other line unchanged.
fn in_parts(line: &TranscriptLine) -> Cow<'_, TranscriptLine> {
    let Some(parts) = line.line.as_deref().and_then(parts) else { return Cow::Borrowed(line) };
    let mut shorter = TranscriptLine::new(line.dir);
    shorter.t = line.t.clone();
    shorter.eol = line.eol.clone();
    shorter.line_parts = Some(parts);
    Cow::Owned(shorter)
}

/// Returns the parts of a long line with long repetitions of a character. Returns `None` for any other line.
pub(crate) fn parts(text: &str) -> Option<Vec<LinePart>> {
    if text.len() < LONG_LINE {
        return None;
    }
    let mut parts: Vec<LinePart> = Vec::new();
    let mut plain = 0;
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let end = at + run(&text.as_bytes()[at..], character);
        let count = (end - at) / character.len_utf8();
        if count >= LONG_RUN {
            if plain < at {
                parts.push(LinePart::Text(text[plain..at].to_owned()));
            }
            parts.push(LinePart::Repeat(LineRepeat::new(character.to_string(), count as u64)));
            plain = end;
        }
        at = end;
    }
    if parts.is_empty() {
        return None;
    }
    if plain < text.len() {
        parts.push(LinePart::Text(text[plain..].to_owned()));
    }
    Some(parts)
}

/// Returns the length in bytes of the repetitions of a text's first character at its beginning.
///
/// Blocks are compared first, because a line may have 64 MiB: a block that equals itself shifted by one
/// character repeats that character.
fn run(text: &[u8], character: char) -> usize {
    /// A multiple of every possible byte length of a UTF-8 character.
    const BLOCK: usize = 12 * 256;
    let width = character.len_utf8();
    let mut end = width;
    while text.len() >= end + BLOCK && text[end - width..end - width + BLOCK] == text[end..end + BLOCK] {
        end += BLOCK;
    }
    let (one, rest) = (&text[..width], &text[end..]);
    end + rest.chunks(width).take_while(|chunk| *chunk == one).count() * width
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[test]
    fn sent_text_becomes_a_record_for_each_line() {
        let recorder = Recorder::default();
        recorder.sent("{\"a\":1}\n{\"b\":2}\r\npart");
        recorder.sent("\n");
        let records: Vec<_> = recorder
            .records()
            .into_iter()
            .map(|record| match record {
                TranscriptRecord::Line(line) => (line.line.unwrap(), line.eol.into_option()),
                other => panic!("{other:?}"),
            })
            .collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            records,
            [
                (text("{\"a\":1}"), None),
                (text("{\"b\":2}"), Some(text("\r\n"))),
                (text("part"), Some(text(""))),
                (text(""), None),
            ]
        );
    }

    #[test]
    fn runs_of_a_character_are_counted_exactly() {
        for character in ['x', '\u{e9}', '\u{20ac}', '\u{1f600}'] {
            for count in [1, 2, 1024, 3071, 3072, 3073, 20_000] {
                let text = format!("{}y{character}", character.to_string().repeat(count));
                assert_eq!(
                    run(text.as_bytes(), character),
                    count * character.len_utf8(),
                    "{character} {count}"
                );
            }
        }
    }

    /// While the long line of one agent is recorded, the lines of another agent still get correct times.
    #[tokio::test]
    async fn a_long_line_is_recorded_without_blocking() {
        let recorder = Arc::new(Recorder::default());
        let (release, released) = std::sync::mpsc::channel();
        let (hold, holds) = tokio::sync::oneshot::channel();
        let held = recorder.clone();
        let holder = std::thread::spawn(move || {
            let _log = held.log.lock().unwrap();
            hold.send(()).unwrap();
            released.recv_timeout(std::time::Duration::from_secs(10)).is_ok()
        });
        holds.await.unwrap();
        let (mut agent, ours) = tokio::io::duplex(1 << 16);
        let reader = tokio::spawn(crate::player::read_lines(Box::new(ours), recorder.clone()));
        let line = format!("{{\"type\":\"{}\"}}\n", "y".repeat(4 << 20));
        agent.write_all(line.as_bytes()).await.unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let _ = release.send(());
        assert!(holder.join().unwrap(), "the long line held up the thread of the runtime");
        drop(agent);
        reader.await.unwrap();
        assert_eq!(recorder.records().len(), 1);
    }

    #[test]
    fn a_record_has_the_time_at_which_its_line_was_read() {
        let recorder = Recorder::default();
        std::thread::sleep(std::time::Duration::from_millis(3));
        recorder.received_bytes(b"{}", None, recorder.start);
        let [TranscriptRecord::Line(found)] = &recorder.records()[..] else { panic!("one line") };
        assert_eq!(found.t, Some(0.into()));
    }

    #[test]
    fn writing_to_a_device_does_not_replace_it() {
        let folder = tempfile::tempdir().unwrap();
        // The path is a symbolic link, so that a faulty implementation replaces the link and not the device.
        let device = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        let recording = Recording { header: TranscriptHeader::new(1, "a"), records: Vec::new() };
        recording.write(&device).unwrap();
        assert!(device.is_symlink());
    }

    #[test]
    fn long_runs_are_written_in_parts_and_read_back() {
        let recorder = Recorder::default();
        let line = format!("{{\"type\":\"{}\u{2028}\"}}", "y".repeat(100_000));
        recorder.received(&line, None);
        let recording = Recording { header: TranscriptHeader::new(1, "a"), records: recorder.records() };
        let text = recording.text();
        assert!(text.len() < 1000, "{}", text.len());
        assert_eq!(text.lines().count(), 2);
        let transcript = Transcript::parse(Path::new("t"), &text).unwrap();
        assert_eq!(transcript.received().next().unwrap().as_str(), line);
    }
}
