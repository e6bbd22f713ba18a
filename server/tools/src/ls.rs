//! The tool that lists a directory.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::find::check_is_directory;
use super::listing::Listing;
use super::{Tool, ToolContext, ToolOutput, blocking, locks, paths};
use crate::os_error;

/// Default number of names in a result.
const DEFAULT_LIMIT: u64 = 500;

/// Lists the contents of a directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct LsTool;

impl Tool for LsTool {
    fn name(&self) -> &str {
        "ls"
    }

    fn description(&self) -> &str {
        "Lists a directory: one name per line, sorted without regard to case, hidden ones too. Directories end with a \
         slash."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The directory; the working directory by default"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most names to show; 500 by default"},
            },
            "required": [],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        let given = arguments["path"].as_str().unwrap_or(".").to_owned();
        let path = paths::resolve_existing(&context.cwd, &given);
        let limit = arguments["limit"].as_u64().unwrap_or(DEFAULT_LIMIT);
        let job = LsJob { given, path, limit };
        async move { blocking::run_unless_aborted(&context.abort, move |stop| job.run(stop)).await.into() }
            .boxed()
    }
}

struct LsJob {
    given: String,
    path: PathBuf,
    limit: u64,
}

impl LsJob {
    fn run(self, stop: &CancellationToken) -> Result<ToolOutput, String> {
        check_is_directory(&self.path, &self.given)?;
        let entries =
            fs::read_dir(&self.path).map_err(|error| os_error::describe(&error, "scandir", &self.path))?;
        let mut first =
            FirstNames { limit: usize::try_from(self.limit).unwrap_or(usize::MAX), ..FirstNames::default() };
        for entry in entries {
            locks::check_not_aborted(stop)?;
            let entry = entry.map_err(|error| os_error::describe(&error, "scandir", &self.path))?;
            first.add(entry.file_name());
        }
        let mut listing = Listing::default();
        for (_, name) in &first.names {
            locks::check_not_aborted(stop)?;
            // A link to a directory is shown as a directory; a broken link is shown unchanged.
            let is_directory = fs::metadata(self.path.join(name)).is_ok_and(|metadata| metadata.is_dir());
            let slash = if is_directory { "/" } else { "" };
            listing.push(&format!("{}{slash}", paths::to_single_line(Path::new(name))));
        }
        if first.total > self.limit {
            let (limit, total) = (self.limit, first.total);
            listing.notice(format!("Stopped after {limit} of {total} names: use limit={total} for all."));
            listing.detail("entryLimitReached", limit);
        }
        Ok(listing.finish("(empty directory)"))
    }
}

/// The first names in alphabetical order. Further names are only counted.
#[derive(Default)]
struct FirstNames {
    limit: usize,
    total: u64,
    names: BTreeSet<(String, OsString)>,
}

impl FirstNames {
    fn add(&mut self, name: OsString) {
        self.total += 1;
        self.names.insert((name.to_string_lossy().to_lowercase(), name));
        if self.names.len() > self.limit {
            self.names.pop_last();
        }
    }
}
