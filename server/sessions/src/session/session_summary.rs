//! The description of a session in a list of sessions.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agentese::types::InputContent;
use serde::Serialize;

use super::header::Header;
use super::members::Members;
use super::{content, lenient_decode, time};

/// Maximum number of bytes in which the header must end. The header can contain a long path.
const HEADER_LIMIT: u64 = 1 << 16;

/// Maximum length of a line in bytes. Longer lines are skipped.
const LINE_LIMIT: u64 = 1 << 26;

/// The summary of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Path of the file.
    pub path: PathBuf,
    /// Identifier of the session.
    pub id: String,
    /// Directory in which the session began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Name of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Parent of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Start time, as ISO text.
    pub created: String,
    /// Time of the last message of the user or the model, as ISO text.
    pub modified: String,
    /// Number of messages in the file, of all branches and roles.
    pub message_count: usize,
    /// Text of the user's first message with text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_message: Option<String>,
}

impl SessionSummary {
    /// Reads a file line by line. Returns `None` if the file is not a session or cannot be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let file = open(path)?;
        let changed = file.metadata().ok()?.modified().ok().map(since_epoch);
        let mut lines = LineReader { input: BufReader::new(file), line: Vec::new() };
        let header = Header::read(lines.next()?).ok()?;
        let created = time::milliseconds(header.timestamp());
        let (mut name, mut first_message, mut last_message_time, mut message_count) = (None, None, None, 0);
        while let Some(line) = lines.next() {
            let Ok(members) = Members::read(line) else { continue };
            match members.get::<String>("type").as_deref() {
                Some("session_info") => {
                    let given = members.get::<String>("name").map(|name| name.trim().to_owned());
                    name = given.filter(|name| !name.is_empty()).or(name);
                }
                Some("message") => {
                    message_count += 1;
                    let message = members.raw("message").and_then(|message| Members::read(message).ok());
                    let Some(message) = message else { continue };
                    let role = message.get::<String>("role");
                    if !matches!(role.as_deref(), Some("user" | "assistant")) {
                        continue;
                    }
                    let at = message.get::<i64>("timestamp");
                    let written = || time::milliseconds(&members.get::<String>("timestamp")?);
                    last_message_time = at.or_else(written).max(last_message_time);
                    if first_message.is_none() && role.as_deref() == Some("user") {
                        let content = message.get("content").map(lenient_decode::content);
                        let content = content.and_then(|content| serde_json::from_value(content).ok());
                        let text = content.map(|content: InputContent| content::text(&content));
                        first_message = text.filter(|text| !text.trim().is_empty());
                    }
                }
                _ => {}
            }
        }
        let modified = last_message_time.or(created).or(changed).unwrap_or_default();
        Some(Self {
            path: path.to_owned(),
            id: header.id().to_owned(),
            cwd: header.cwd().map(str::to_owned),
            name,
            parent_session: header.parent().map(str::to_owned),
            created: time::iso(created.or(changed).unwrap_or_default()),
            modified: time::iso(modified),
            message_count,
            first_message,
        })
    }
}

/// Reads only the header of a file. Returns `None` if it is not a session or cannot be read.
pub(super) fn header(path: &Path) -> Option<Header> {
    let mut lines = LineReader { input: BufReader::new(open(path)?.take(HEADER_LIMIT)), line: Vec::new() };
    Header::read(lines.next()?).ok()
}

/// Returns a time in milliseconds since the epoch.
fn since_epoch(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn open(path: &Path) -> Option<File> {
    // A link could lead out of the directory, and opening a pipe could block forever.
    path.symlink_metadata().ok()?.is_file().then(|| File::open(path).ok())?
}

/// Reads the lines that are valid UTF-8 and not blank.
struct LineReader<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    fn next(&mut self) -> Option<&str> {
        loop {
            self.line.clear();
            let count = self.input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut self.line).ok()?;
            if count == 0 {
                return None;
            }
            if count as u64 == LINE_LIMIT && self.line.last() != Some(&b'\n') {
                self.input.skip_until(b'\n').ok()?;
                continue;
            }
            if std::str::from_utf8(&self.line).is_ok_and(|line| !line.trim().is_empty()) {
                return std::str::from_utf8(&self.line).ok().map(str::trim);
            }
        }
    }
}
