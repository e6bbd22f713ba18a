//! The tool that searches the content of files.

use std::fs;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use ignore::overrides::{Override, OverrideBuilder};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::locks::{self, ABORTED};
use super::search::{Pattern, Search};
use super::truncate::MAX_LINES;
use super::walk::Walk;
use super::{Tool, ToolContext, ToolOutput, blocking, paths};
use crate::os_error;

/// Default number of lines in a result.
const DEFAULT_LIMIT: u64 = 100;

/// Finds lines that match a pattern.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrepTool;

impl Tool for GrepTool {
    fn name(&self) -> &str {
        "grep"
    }

    fn description(&self) -> &str {
        "Finds the lines of files that match a pattern, with path and line number. Hidden files are searched; what \
         ignore files such as .gitignore leave out, version control directories and binary files are not. Lines are \
         shown up to 500 characters, results up to 50KB."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression (Rust syntax, no look-around and no back references), or a plain text with literal"},
                "path": {"type": "string", "description": "The file or directory to search; the working directory by default"},
                "glob": {"type": "string", "description": "Only files whose path below the searched directory matches, for example *.rs or src/**/*.ts; with a leading ! all others"},
                "ignoreCase": {"type": "boolean", "description": "Upper and lower case count as the same; no by default"},
                "literal": {"type": "boolean", "description": "The pattern is plain text; no by default"},
                "context": {"type": "integer", "minimum": 0, "description": "How many lines to show before and after each match; none by default"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most matching lines to show; 100 by default"},
            },
            "required": ["pattern"],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let job = GrepJob::new(context, &arguments);
            blocking::run_unless_aborted(&context.abort, move |stop| job.run(stop)).await.into()
        }
        .boxed()
    }
}

struct GrepJob {
    given: String,
    root: PathBuf,
    pattern: String,
    literal: bool,
    ignore_case: bool,
    glob: Option<String>,
    context: usize,
    limit: u64,
}

impl GrepJob {
    fn new(context: &ToolContext, arguments: &Value) -> Self {
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        let flag = |name: &str| arguments[name].as_bool().unwrap_or_default();
        let given = text("path").unwrap_or_else(|| ".".to_owned());
        let lines = arguments["context"].as_u64().and_then(|lines| usize::try_from(lines).ok());
        Self {
            root: paths::resolve_existing(&context.cwd, &given),
            given,
            pattern: text("pattern").unwrap_or_default(),
            literal: flag("literal"),
            ignore_case: flag("ignoreCase"),
            glob: text("glob"),
            // More lines than a result can show are of no use.
            context: lines.unwrap_or_default().min(MAX_LINES),
            limit: arguments["limit"].as_u64().unwrap_or(DEFAULT_LIMIT),
        }
    }

    fn run(self, stop: &CancellationToken) -> Result<ToolOutput, String> {
        let pattern = Pattern::new(&self.pattern, self.literal, self.ignore_case)?;
        let mut search = Search::new(pattern, self.context, self.limit);
        let metadata = fs::metadata(&self.root).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("Path not found: {}", self.given),
            _ => os_error::describe(&error, "access", &self.root),
        })?;
        let skipped = if metadata.is_dir() {
            self.directory(&mut search, stop)?
        } else if metadata.is_file() {
            self.one_file(&mut search, stop)?;
            None
        } else {
            return Err(format!(
                "{} is neither a file nor a directory; only those are searched.",
                self.given
            ));
        };
        let full = search.is_full();
        let mut listing = search.finish();
        if full {
            let (limit, more) = (self.limit, self.limit.saturating_mul(2));
            listing.notice(format!(
                "Stopped after {limit} matches, there are more: use limit={more}, or a narrower pattern."
            ));
            listing.detail("matchLimitReached", limit);
        }
        if let Some(skipped) = skipped {
            listing.notice(skipped);
        }
        Ok(listing.finish("No matches found"))
    }

    /// Searches all files of a directory. Returns a notice if files could not be read.
    fn directory(&self, search: &mut Search, stop: &CancellationToken) -> Result<Option<String>, String> {
        let chosen = self.glob_override()?;
        let entered = chosen.clone();
        let mut walk = Walk::new(&self.root, move |directory| !entered.matched(directory, true).is_ignore());
        while let Some(found) = walk.next() {
            locks::check_not_aborted(stop)?;
            if !found.kind.is_file() || chosen.matched(&found.relative, false).is_ignore() {
                continue;
            }
            let name = paths::to_single_line(&found.relative);
            if let Err(error) = search.file(&found.path, &name, stop) {
                locks::check_not_aborted(stop)?;
                walk.record_skipped(&found, os_error::reason(&error));
            }
            if search.is_full() {
                break;
            }
        }
        walk.finish()
    }

    fn one_file(&self, search: &mut Search, stop: &CancellationToken) -> Result<(), String> {
        // The links to the file were followed already.
        let path = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let name = paths::to_single_line(Path::new(self.root.file_name().unwrap_or_default()));
        search.file(&path, &name, stop).map_err(|error| {
            if stop.is_cancelled() {
                ABORTED.to_owned()
            } else {
                os_error::describe(&error, "read", &self.root)
            }
        })
    }

    /// Returns a filter for the glob. Files that `.gitignore` excludes stay excluded even if they match.
    fn glob_override(&self) -> Result<Override, String> {
        let Some(glob) = &self.glob else { return Ok(Override::empty()) };
        let problem = |error: ignore::Error| format!("The glob cannot be used: {error}");
        // Relative paths are matched, so the base directory is empty.
        let mut builder = OverrideBuilder::new("");
        super::find::check_glob_length(glob)?;
        builder.add(glob).map_err(problem)?;
        builder.build().map_err(problem)
    }
}
