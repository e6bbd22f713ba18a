//! Replacement of a file's content, with errors as texts for the model.

use std::fs;
use std::io;
use std::path::Path;

use crate::os_error;
use agentese_server_base::atomic_write::{self, Options, WriteError};

/// Replaces the content of `target`, which must not be a symlink. Creates missing directories. May store a
/// copy of the old content in the directory `scratch` meanwhile. Calls `still_wanted` directly before the
/// target changes. Fails with a text for the model. After a failure the content is unchanged, or the text
/// contains the path of a copy.
pub(crate) fn replace(
    target: &Path,
    content: &[&[u8]],
    scratch: &Path,
    still_wanted: impl FnMut() -> Result<(), String>,
) -> Result<(), String> {
    let problem = |call: &str, error: io::Error| os_error::describe(&error, call, target);
    match fs::metadata(target) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(format!("EISDIR: {} is a directory", target.display()));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(format!("{} is not a regular file", target.display()));
        }
        // A write-protected file stays unchanged, although its directory would allow a replacement.
        Ok(_) => rustix::fs::access(target, rustix::fs::Access::WRITE_OK)
            .map_err(|error| problem("open", error.into()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(problem("stat", error)),
    }
    let directory = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(|error| os_error::describe(&error, "mkdir", directory))?;
    let options = Options { scratch, mode: 0o666, exact_mode: None };
    atomic_write::replace(target, content, &options, still_wanted).map_err(|failure| match failure {
        WriteError::System { call, path, source } => os_error::describe(&source, call, &path),
        WriteError::Unwanted(text) => text,
        WriteError::Torn { backup: kept, source } => format!(
            "{}. {} is damaged now; its old content is in {}",
            problem("write", source),
            target.display(),
            kept.display()
        ),
    })
}
