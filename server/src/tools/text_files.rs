//! Text files that somebody else has: an editor, with what its user has not saved yet.

use std::path::{Path, PathBuf};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::image::{Kind, MAGIC_LENGTH};
use super::locks::ABORTED;
use super::read::LARGEST_FILE;
use super::{ToolContext, blocking};

/// Who has text files. Failures are sentences for the model.
pub trait TextFiles: Send + Sync {
    /// Whether files can be read there.
    fn reads(&self) -> bool;

    /// Whether files can be written there.
    fn writes(&self) -> bool;

    /// The text of a file.
    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>>;

    /// Gives a file that text.
    fn write<'a>(&'a self, path: &'a Path, text: String) -> BoxFuture<'a, Result<(), String>>;
}

impl ToolContext {
    /// The text of a file as somebody else has it. None where nobody does, where it is no text file, and where it cannot be
    /// had there: then the file of this machine counts.
    pub(super) async fn read_elsewhere(&self, path: &Path) -> Result<Option<String>, String> {
        let Some(files) = self.files.as_ref().filter(|files| files.reads()) else { return Ok(None) };
        let looked = path.to_owned();
        if !blocking::run_unless_aborted(&self.abort, move |_| Ok(may_be_text(&looked))).await? {
            return Ok(None);
        }
        match unless_aborted(&self.abort, files.read(path)).await? {
            Ok(text) => Ok(Some(text)),
            Err(reason) => {
                tracing::debug!(reason, path = %path.display(), "the file is read from this machine");
                Ok(None)
            }
        }
    }

    /// Gives a file that text where somebody else has it; false where nobody does.
    pub(super) async fn write_elsewhere(&self, path: &Path, text: String) -> Result<bool, String> {
        let Some(files) = self.files.as_ref().filter(|files| files.writes()) else { return Ok(false) };
        if self.abort.is_cancelled() {
            return Err(ABORTED.to_owned());
        }
        // Not raced against the abort: the answer says what really happened to the file.
        files.write(path, text).await.map(|()| true)
    }

    /// Whether files are changed elsewhere: read there and written there.
    pub(super) fn changes_elsewhere(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.reads() && files.writes())
    }
}

async fn unless_aborted<T>(abort: &CancellationToken, work: impl Future<Output = T>) -> Result<T, String> {
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(ABORTED.to_owned()),
        done = work => Ok(done),
    }
}

/// Whether there is a file which is no image and not too large, or none at all: it may not have been saved yet. Blocks.
fn may_be_text(path: &PathBuf) -> bool {
    use std::io::Read;
    let Ok(metadata) = std::fs::metadata(path) else { return true };
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return false;
    }
    let mut start = Vec::with_capacity(MAGIC_LENGTH);
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(MAGIC_LENGTH as u64).read_to_end(&mut start));
    read.is_ok() && Kind::of(&start).is_none()
}
