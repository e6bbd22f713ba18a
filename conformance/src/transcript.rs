//! Reader of transcript files.

use std::path::{Path, PathBuf};

use agentese::framing::FrameText;
use agentese::types::{
    Direction, LinePart, TranscriptControl, TranscriptHeader, TranscriptLine, TranscriptRecord,
};

/// Reason why a file is not a transcript.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the transcript file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// A line is not a record.
    #[error("{path}:{line}: {reason}")]
    Record {
        /// Path of the transcript file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: usize,
        /// Description of the error.
        reason: String,
    },
}

/// One record of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// A line to the agent.
    Sent(FrameText),
    /// A line from the agent.
    Received(FrameText),
    /// An event that is not a line, such as a signal or the end of the agent.
    Control(TranscriptControl),
}

/// A transcript: the lines of a client and an agent, and process events.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Header of the transcript.
    pub header: TranscriptHeader,
    /// Records of the transcript, in order.
    pub records: Vec<Record>,
}

impl Transcript {
    /// Reads a transcript.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is invalid. The error names the file and the line.
    pub fn load(path: &Path) -> Result<Self, TranscriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TranscriptError::Read { path: path.to_owned(), source })?;
        Self::parse(path, &text)
    }

    /// Parses the text of a transcript. `path` is the path for errors.
    ///
    /// # Errors
    /// If a line is invalid. The error names it.
    pub fn parse(path: &Path, text: &str) -> Result<Self, TranscriptError> {
        let mut header = None;
        let mut records = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let wrong =
                |reason: String| TranscriptError::Record { path: path.to_owned(), line: at + 1, reason };
            match serde_json::from_str(line).map_err(|error| wrong(error.to_string()))? {
                TranscriptRecord::Header(found) if header.is_none() => header = Some(found),
                TranscriptRecord::Header(_) => return Err(wrong("repeated header".to_owned())),
                TranscriptRecord::Note(_) => {}
                TranscriptRecord::Control(control) => records.push(Record::Control(control)),
                TranscriptRecord::Line(line) => {
                    let text = whole_line(&line)
                        .ok_or_else(|| wrong("neither `line` nor `line_parts`".to_owned()))?;
                    records.push(match line.dir {
                        Direction::C2s => Record::Sent(text.into()),
                        Direction::S2c => Record::Received(text.into()),
                    });
                }
            }
        }
        let header = header.ok_or_else(|| TranscriptError::Record {
            path: path.to_owned(),
            line: 1,
            reason: "missing header".to_owned(),
        })?;
        Ok(Transcript { header, records })
    }

    /// Returns an iterator over the events that are not lines.
    pub fn controls(&self) -> impl Iterator<Item = &TranscriptControl> {
        self.records.iter().filter_map(|record| match record {
            Record::Control(control) => Some(control),
            _ => None,
        })
    }

    /// Returns an iterator over the names of the signals that were sent to the agent.
    pub fn signals(&self) -> impl Iterator<Item = &str> {
        self.controls().filter_map(|control| control.event.strip_prefix("signal "))
    }

    /// Returns the record of the agent's end. If there are several, returns the last one.
    pub fn end(&self) -> Option<&TranscriptControl> {
        self.controls().filter(|control| control.event == "exit").last()
    }

    /// Iterates over the lines from the agent.
    pub fn received(&self) -> impl Iterator<Item = &FrameText> {
        self.records.iter().filter_map(|record| match record {
            Record::Received(line) => Some(line),
            _ => None,
        })
    }

    /// Iterates over the lines to the agent.
    pub fn sent(&self) -> impl Iterator<Item = &FrameText> {
        self.records.iter().filter_map(|record| match record {
            Record::Sent(line) => Some(line),
            _ => None,
        })
    }
}

/// Returns the text of a line. Joins the parts of a line that is stored in parts.
pub fn whole_line(line: &TranscriptLine) -> Option<String> {
    if let Some(text) = &line.line {
        return Some(text.clone());
    }
    let parts = line.line_parts.as_ref()?;
    Some(
        parts
            .iter()
            .map(|part| match part {
                LinePart::Text(text) => text.clone(),
                LinePart::Repeat(part) => part.repeat.repeat(usize::try_from(part.n).unwrap_or(usize::MAX)),
            })
            .collect(),
    )
}

/// Returns the folder with the recorded transcripts of a dialect.
pub fn folder(dialect: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts").join(dialect)
}

/// Loads the recorded transcripts of a dialect, by name, in order.
///
/// # Errors
/// If a file is invalid. The error names it.
pub fn recorded(dialect: &str) -> Result<Vec<(String, Transcript)>, TranscriptError> {
    let folder = folder(dialect);
    let entries = std::fs::read_dir(&folder)
        .map_err(|source| TranscriptError::Read { path: folder.clone(), source })?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Transcript::load(&path).map(|transcript| (name, transcript))
        })
        .collect()
}
