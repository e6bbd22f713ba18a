//! Access to text files through an editor of the client, which includes unsaved changes.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::blocking;
use super::image::{Kind, MAGIC_LENGTH};
use super::locks::ABORTED;
use super::tool::ToolContext;

/// Maximum size of a file in bytes. Counting the lines of a larger file would take seconds.
pub(crate) const LARGEST_FILE: u64 = 256 * 1024 * 1024;

impl ToolContext {
    /// Returns the text of a file from the editor. Returns `None` if there is no editor, if the editor cannot
    /// read the file, or if the file is not text. Then the file is read from this machine.
    pub(super) async fn read_in_editor(&self, path: &Path) -> Result<Option<String>, String> {
        let Some(files) = self.editor_files.as_ref().filter(|files| files.can_read()) else {
            return Ok(None);
        };
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

    /// Changes the text of a file in the editor. Returns false if no editor can write files.
    pub(super) async fn write_in_editor(&self, path: &Path, text: String) -> Result<bool, String> {
        let Some(files) = self.editor_files.as_ref().filter(|files| files.can_write()) else {
            return Ok(false);
        };
        if self.abort.is_cancelled() {
            return Err(ABORTED.to_owned());
        }
        // Not raced against the abort: the result reports the actual change of the file.
        files.write(path, text).await.map(|()| true)
    }

    /// Returns true if an editor can both read and write files, so that edits happen there.
    pub(super) fn edits_in_editor(&self) -> bool {
        self.editor_files.as_ref().is_some_and(|files| files.can_read() && files.can_write())
    }
}

async fn unless_aborted<T>(abort: &CancellationToken, work: impl Future<Output = T>) -> Result<T, String> {
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(ABORTED.to_owned()),
        done = work => Ok(done),
    }
}

/// Returns true if a file is possibly text: it is no image and not too large. Returns true for a missing
/// file, because the editor has possibly not saved it yet. Blocks.
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
