//! Replacement of texts in one file, with a check for changes by other programs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::super::diff::{Diff, TextEdit, diff};
use super::super::editor_files::LARGEST_FILE;
use super::super::matching::{MatchError, find};
use super::super::truncate::format_size;
use super::super::{locks, replace};
use crate::os_error;
use agentese_server_base::encoding::Encoding;

/// Maximum number of attempts if another program changes the file at the same time.
const ATTEMPTS: usize = 3;
const BOM: char = '\u{feff}';

/// A text to replace, and the new text.
pub(super) struct Replacement {
    pub old: String,
    pub new: String,
}

/// The changes of a text, with their positions.
pub(super) struct EditPlan {
    /// Length of the byte order mark in bytes; 0 without a mark.
    bom: usize,
    /// Changes in text order, which do not overlap.
    text_edits: Vec<TextEdit>,
}

impl EditPlan {
    /// Returns the new text as a list of slices. The file can be large, so they are not joined.
    pub fn slices<'a>(&'a self, text: &'a str) -> Vec<&'a str> {
        let (start, body) = text.split_at(self.bom);
        let (mut slices, mut at) = (vec![start], 0);
        for TextEdit { range, new } in &self.text_edits {
            slices.extend([&body[at..range.start], new]);
            at = range.end;
        }
        slices.push(&body[at..]);
        slices
    }

    /// Returns the diff of the change for display.
    pub fn diff(&self, text: &str) -> Diff {
        diff(&text[self.bom..], &self.text_edits)
    }
}

pub(super) struct EditJob {
    pub target: PathBuf,
    pub scratch: PathBuf,
    /// Path as the model wrote it.
    pub given: String,
    pub edits: Vec<Replacement>,
    pub abort: CancellationToken,
}

enum EditError {
    Text(String),
    /// The file has changed since it was read.
    Changed,
}

impl From<String> for EditError {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl EditJob {
    /// Applies all replacements to the file and returns the diff. Fails with a text for the model.
    pub fn run(&self) -> Result<Diff, String> {
        for _ in 0..ATTEMPTS {
            match self.attempt() {
                Ok(diff) => return Ok(diff),
                Err(EditError::Text(text)) => return Err(text),
                Err(EditError::Changed) => {}
            }
        }
        Err(format!("{} is being changed by something else; nothing was replaced.", self.given))
    }

    fn attempt(&self) -> Result<Diff, EditError> {
        let (content, stamp) = self.read()?;
        let encoding = Encoding::of(&content);
        let text = encoding.decode(&content).map_err(|position| {
            let name = if encoding == Encoding::Utf8 { "UTF-8" } else { "UTF-16" };
            format!(
                "{} is not valid {name} (at byte {position}); editing it as text would damage it. Nothing was replaced.",
                self.given,
            )
        })?;
        let change = self.locate(&text)?;
        let encoded: Vec<_> = change.slices(&text).into_iter().map(|slice| encoding.encode(slice)).collect();
        let replaced: Vec<&[u8]> = encoded.iter().map(AsRef::as_ref).collect();
        let mut changed = false;
        let result = replace::replace(&self.target, &replaced, &self.scratch, || {
            locks::check_not_aborted(&self.abort)?;
            changed = stamp.is_none() || FileStamp::of(&self.target) != stamp;
            if changed { Err("the file has changed".to_owned()) } else { Ok(()) }
        });
        if changed {
            return Err(EditError::Changed);
        }
        result?;
        Ok(change.diff(&text))
    }

    /// Finds the texts to replace. Fails with a text for the model.
    pub fn locate(&self, text: &str) -> Result<EditPlan, String> {
        let given = &self.given;
        let bom = text.strip_prefix(BOM).map_or(0, |_| BOM.len_utf8());
        let body = &text[bom..];
        let mut found = Vec::with_capacity(self.edits.len());
        for (at, Replacement { old, new }) in self.edits.iter().enumerate() {
            let old = old.strip_prefix(BOM).unwrap_or(old);
            if old.is_empty() {
                return Err(format!("{} is empty. To fill {given} use write.", self.name(at)));
            }
            let range = find(body, old).map_err(|no_match| self.explain(at, no_match))?;
            let new = new.replace("\r\n", "\n").replace('\n', line_ending(&body[range.clone()], body));
            found.push((at, TextEdit { range, new }));
        }
        found.sort_by_key(|(_, piece)| piece.range.start);
        let over = found.windows(2).find(|two| two[0].1.range.end > two[1].1.range.start);
        if let Some([(one, _), (other, _)]) = over {
            let (one, other) = (one.min(other), one.max(other));
            return Err(format!(
                "edits[{one}] and edits[{other}] overlap in {given}: make one replacement of them."
            ));
        }
        let pieces: Vec<_> = found.into_iter().map(|(_, piece)| piece).collect();
        if pieces.iter().all(|piece| body[piece.range.clone()] == piece.new) {
            let what =
                if self.edits.len() == 1 { "The replacement is what" } else { "The replacements are what" };
            return Err(format!("{what} {given} already has there; nothing was replaced."));
        }
        Ok(EditPlan { bom, text_edits: pieces })
    }

    /// Returns the name of a replacement's `oldText`, for messages to the model.
    fn name(&self, at: usize) -> String {
        if self.edits.len() == 1 { "oldText".to_owned() } else { format!("edits[{at}].oldText") }
    }

    fn read(&self) -> Result<(Vec<u8>, Option<FileStamp>), String> {
        let problem = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => format!("File not found: {}", self.given),
            _ => os_error::describe(&error, "open", &self.target),
        };
        let metadata = fs::metadata(&self.target).map_err(problem)?;
        if !metadata.is_file() {
            return Err(format!("{} is not a regular file; only text files are edited.", self.given));
        }
        let stamp = FileStamp::of(&self.target);
        let mut content = Vec::new();
        if metadata.len() <= LARGEST_FILE {
            // With the size reserved, reading never reallocates. One byte more detects the end.
            content.reserve_exact(usize::try_from(metadata.len()).map_or(0, |length| length + 1));
            let file = File::open(&self.target).map_err(problem)?;
            file.take(LARGEST_FILE + 1).read_to_end(&mut content).map_err(problem)?;
        }
        if metadata.len().max(content.len() as u64) > LARGEST_FILE {
            let limit = format_size(LARGEST_FILE);
            return Err(format!(
                "{} is larger than the {limit} that edit takes. Use bash, for example sed.",
                self.given
            ));
        }
        Ok((content, stamp))
    }

    fn explain(&self, at: usize, no_match: MatchError) -> String {
        let given = &self.given;
        let (one, name) = (self.edits.len() == 1, self.name(at));
        match no_match {
            MatchError::Missing if one => format!(
                "Could not find the exact text in {given}. The old text must match exactly including all whitespace \
                 and newlines."
            ),
            MatchError::Missing => {
                format!(
                    "{name} is not in {given}, as it is with all its white space and line breaks. Nothing was replaced."
                )
            }
            MatchError::Ambiguous(count) => format!(
                "{} is in {given} {count} times, and only one of them is meant. Give more of the lines around it, so \
                 that it is unique.",
                if one { "The text".to_owned() } else { name }
            ),
        }
    }
}

/// Metadata that differ after the file was changed.
#[derive(Debug, PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { inode: metadata.ino(), size: metadata.size(), modified })
    }
}

/// Returns the line ending for the new text: the first one in the replaced text, or else the first one in the file.
fn line_ending(piece: &str, text: &str) -> &'static str {
    let first = [piece, text].into_iter().find_map(|text| {
        let at = memchr::memchr(b'\n', text.as_bytes())?;
        Some(text[..at].ends_with('\r'))
    });
    if first == Some(true) { "\r\n" } else { "\n" }
}
