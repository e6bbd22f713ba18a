//! The tool that replaces a piece of a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::diff::{Diff, diff};
use super::matching::{NoMatch, find};
use super::read::LARGEST_FILE;
use super::truncate::format_size;
use super::{Tool, ToolContext, ToolOutput, blocking, locks, os_error, paths, replace};
use crate::replace as files;

/// Replaces one piece of a text file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

impl Tool for Edit {
    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> &str {
        "Replaces a piece of a text file. oldText has to be in the file exactly once, white space and line breaks \
         included; give as many lines around the change as that takes."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
                "oldText": {"type": "string", "description": "The text to replace, exactly as it is in the file"},
                "newText": {"type": "string", "description": "The text to put in its place"},
            },
            "required": ["path", "oldText", "newText"],
        })
    }

    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move { execute(context, arguments).await.into() }.boxed()
    }
}

async fn execute(context: &ToolContext, arguments: Value) -> Result<ToolOutput, String> {
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let given = argument("path");
    let path = paths::resolve_existing(&context.cwd, &given);
    let target = files::target(&path).map_err(|error| os_error::describe(&error, "open", &path))?;
    let _alone = locks::lock_unless(&target, &context.abort).await?;
    let job = Job {
        target,
        scratch: context.temp_dir.clone(),
        old: argument("oldText"),
        new: argument("newText"),
        abort: context.abort.clone(),
        given: given.clone(),
    };
    let diff = match context.changes_elsewhere() {
        true => in_an_editor(context, job).await?,
        // Not raced against the abort: the answer says what really happened to the file.
        false => blocking::run(move || job.run()).await?,
    };
    let details = json!({"diff": diff.text, "firstChangedLine": diff.first_changed_line});
    Ok(ToolOutput::text(format!("Successfully replaced text in {given}.")).with_details(details))
}

/// Replaces the text where somebody else has the file; the file of this machine counts where it cannot be read there.
async fn in_an_editor(context: &ToolContext, job: Job) -> Result<Diff, String> {
    let Some(text) = context.read_elsewhere(&job.target).await? else {
        return blocking::run(move || job.run()).await;
    };
    let Change { bom, range, new } = job.place(&text)?;
    let body = &text[bom..];
    let whole = [&text[..bom + range.start], &new, &body[range.end..]].concat();
    let diff = diff(body, range, &new);
    context.write_elsewhere(&job.target, whole).await?;
    Ok(diff)
}

/// What is replaced in a text, and by what.
struct Change {
    /// Bytes before the text proper.
    bom: usize,
    range: std::ops::Range<usize>,
    new: String,
}

/// How often a file that somebody else writes at the same time is looked at again.
const ATTEMPTS: usize = 3;
const BOM: char = '\u{feff}';

struct Job {
    target: PathBuf,
    scratch: PathBuf,
    given: String,
    old: String,
    new: String,
    abort: CancellationToken,
}

enum Failure {
    Text(String),
    /// The file is not the one that was read any more.
    Changed,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Job {
    fn run(&self) -> Result<Diff, String> {
        for _ in 0..ATTEMPTS {
            match self.attempt() {
                Ok(diff) => return Ok(diff),
                Err(Failure::Text(text)) => return Err(text),
                Err(Failure::Changed) => {}
            }
        }
        Err(format!("{} is being changed by something else; nothing was replaced.", self.given))
    }

    fn attempt(&self) -> Result<Diff, Failure> {
        let (content, seen) = self.read()?;
        let text = std::str::from_utf8(&content).map_err(|error| {
            format!(
                "{} is not valid UTF-8 (at byte {}); editing it as text would damage it. Nothing was replaced.",
                self.given,
                error.valid_up_to()
            )
        })?;
        let Change { bom, range, new } = self.place(text)?;
        let body = &text[bom..];
        // Not put together: the file may be large.
        let replaced = [&text[..bom + range.start], &new, &body[range.end..]].map(str::as_bytes);
        let mut changed = false;
        let result = replace::replace(&self.target, &replaced, &self.scratch, || {
            locks::unless_aborted(&self.abort)?;
            changed = seen.is_none() || Seen::of(&self.target) != seen;
            if changed { Err("the file has changed".to_owned()) } else { Ok(()) }
        });
        if changed {
            return Err(Failure::Changed);
        }
        result?;
        Ok(diff(body, range, &new))
    }

    /// Finds the old text.
    fn place(&self, text: &str) -> Result<Change, String> {
        let bom = text.strip_prefix(BOM).map_or(0, |_| BOM.len_utf8());
        let (body, old) = (&text[bom..], self.old.strip_prefix(BOM).unwrap_or(&self.old));
        if old.is_empty() {
            return Err(format!("oldText is empty. To fill {} use write.", self.given));
        }
        let range = find(body, old).map_err(|no_match| self.explain(no_match))?;
        let new = self.new.replace("\r\n", "\n").replace('\n', line_ending(&body[range.clone()], body));
        if body[range.clone()] == new {
            let given = &self.given;
            return Err(format!("The replacement is what {given} already has there; nothing was replaced."));
        }
        Ok(Change { bom, range, new })
    }

    fn read(&self) -> Result<(Vec<u8>, Option<Seen>), String> {
        let problem = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => format!("File not found: {}", self.given),
            _ => os_error::describe(&error, "open", &self.target),
        };
        let metadata = fs::metadata(&self.target).map_err(problem)?;
        if !metadata.is_file() {
            return Err(format!("{} is not a regular file; only text files are edited.", self.given));
        }
        let seen = Seen::of(&self.target);
        let mut content = Vec::new();
        if metadata.len() <= LARGEST_FILE {
            // With its size known, reading moves nothing. One more byte, so that the end shows as one.
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
        Ok((content, seen))
    }

    fn explain(&self, no_match: NoMatch) -> String {
        let given = &self.given;
        match no_match {
            NoMatch::Missing => format!(
                "Could not find the exact text in {given}. The old text must match exactly including all whitespace \
                 and newlines."
            ),
            NoMatch::Ambiguous(count) => format!(
                "The text is in {given} {count} times, and only one of them is meant. Give more of the lines around \
                 it, so that it is unique."
            ),
        }
    }
}

/// What tells one state of a file from another without reading it.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Seen {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { inode: metadata.ino(), size: metadata.size(), modified })
    }
}

/// The line ending for new lines: the one in the replaced piece, else the first one of the file.
fn line_ending(piece: &str, text: &str) -> &'static str {
    let first = [piece, text].into_iter().find_map(|text| {
        let at = memchr::memchr(b'\n', text.as_bytes())?;
        Some(text[..at].ends_with('\r'))
    });
    if first == Some(true) { "\r\n" } else { "\n" }
}
