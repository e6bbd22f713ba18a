//! The tool that finds files by name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::listing::Listing;
use super::truncate::format_size;
use super::walk::{Walk, WalkEntry};
use super::{Tool, ToolContext, ToolOutput, blocking, locks, paths};
use crate::os_error;

/// Default number of paths in a result.
const DEFAULT_LIMIT: u64 = 1000;
/// Maximum length of a glob in bytes. A longer glob would take much memory when it is compiled.
const LONGEST_GLOB: usize = 4096;

/// Finds files and directories whose name or path matches a glob.
#[derive(Clone, Copy, Debug, Default)]
pub struct FindTool;

impl Tool for FindTool {
    fn name(&self) -> &str {
        "find"
    }

    fn description(&self) -> &str {
        "Finds files and directories by a glob pattern. The result has one path per line, relative to the searched \
         directory and sorted; directories end with a slash. Hidden ones are found; what ignore files such as \
         .gitignore leave out and version control directories are not."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The glob: *.rs is looked for among the names in all directories; one with a slash, as src/**/*.ts, has to match the whole path below the searched directory"},
                "path": {"type": "string", "description": "The directory to search; the working directory by default"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most paths to show; 1000 by default"},
            },
            "required": ["pattern"],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        let text = |name: &str| arguments[name].as_str().map(str::to_owned);
        let given = text("path").unwrap_or_else(|| ".".to_owned());
        let job = FindJob {
            root: paths::resolve_existing(&context.cwd, &given),
            given,
            pattern: text("pattern").unwrap_or_default(),
            limit: arguments["limit"].as_u64().unwrap_or(DEFAULT_LIMIT),
        };
        async move { blocking::run_unless_aborted(&context.abort, move |stop| job.run(stop)).await.into() }
            .boxed()
    }
}

struct FindJob {
    given: String,
    root: PathBuf,
    pattern: String,
    limit: u64,
}

impl FindJob {
    fn run(self, stop: &CancellationToken) -> Result<ToolOutput, String> {
        let wanted = GlobFilter::new(&self.pattern)?;
        check_is_directory(&self.root, &self.given)?;
        let mut listing = Listing::default();
        let (mut count, mut full) = (0, false);
        let mut walk = Walk::new(&self.root, |_| true);
        for found in walk.by_ref() {
            locks::check_not_aborted(stop)?;
            if !wanted.includes(&found) {
                continue;
            }
            if count == self.limit {
                full = true;
                break;
            }
            count += 1;
            let slash = if found.kind.is_dir() { "/" } else { "" };
            listing.push(&format!("{}{slash}", paths::to_single_line(&found.relative)));
        }
        if full {
            let (limit, more) = (self.limit, self.limit.saturating_mul(2));
            listing.notice(format!(
                "Stopped after {limit} paths, there are more: use limit={more}, or a narrower pattern."
            ));
            listing.detail("resultLimitReached", limit);
        }
        if let Some(skipped) = walk.finish()? {
            listing.notice(skipped);
        }
        Ok(listing.finish("No files found matching pattern"))
    }
}

/// Checks that a path is a directory. Fails with a text for the model.
pub(crate) fn check_is_directory(path: &Path, given: &str) -> Result<(), String> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(format!("Not a directory: {given}")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!("Path not found: {given}")),
        Err(error) => Err(os_error::describe(&error, "access", path)),
    }
}

/// Checks the length of a glob. Fails with a text for the model if the glob is too long.
pub(crate) fn check_glob_length(glob: &str) -> Result<(), String> {
    if glob.len() <= LONGEST_GLOB {
        return Ok(());
    }
    let (size, limit) = (format_size(glob.len() as u64), format_size(LONGEST_GLOB as u64));
    Err(format!("The glob has {size}, more than the {limit} that can be used."))
}

struct GlobFilter {
    glob: GlobMatcher,
    whole_path: bool,
    only_directories: bool,
}

impl GlobFilter {
    fn new(pattern: &str) -> Result<Self, String> {
        check_glob_length(pattern)?;
        let (rest, only_directories) = match pattern.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (pattern, false),
        };
        // Every path begins in the searched directory.
        let rooted = rest.strip_prefix("./").or_else(|| rest.strip_prefix('/'));
        let glob = GlobBuilder::new(rooted.unwrap_or(rest)).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("The pattern cannot be used: {error}"))?;
        Ok(Self { glob: glob.compile_matcher(), whole_path: rest.contains('/'), only_directories })
    }

    fn includes(&self, found: &WalkEntry) -> bool {
        let path = if self.whole_path {
            found.relative.as_path()
        } else {
            Path::new(found.relative.file_name().unwrap_or_default())
        };
        // The searched directory itself is not a result.
        !found.relative.as_os_str().is_empty()
            && (found.kind.is_dir() || !self.only_directories)
            && self.glob.is_match(path)
    }
}
