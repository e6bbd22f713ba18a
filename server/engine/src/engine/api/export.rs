//! Export of the session as an HTML page.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::Engine;
use crate::export::{self, Entries, ExportError, ExportInput};
use crate::providers::ExposeSecret;
use crate::session::{Entry, EntryLine};
use crate::tools::resolve_path;

/// Reason for a failed export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportPageError {
    // The texts are pi's.
    /// The session has no messages.
    #[error("Nothing to export yet - start a conversation first")]
    Empty,
    /// The session is not stored.
    #[error("Cannot export in-memory session to HTML")]
    InMemory,
    /// The remote agent, which writes the page itself, rejected the request.
    #[error("{0}")]
    Remote(String),
    /// The page cannot be written.
    #[error(transparent)]
    Write(#[from] ExportError),
}

/// The data of a page, copied while the state was locked.
struct ExportSnapshot {
    header: String,
    entries: EntryLines,
    leaf: Option<String>,
    prompt: String,
    tools: Vec<(String, String)>,
    secrets: Vec<String>,
}

/// The lines of the entries. If the session is large, its lines stay in the file and are read when needed.
struct EntryLines(Vec<EntryLine>);

impl Entries for EntryLines {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn entry(&self, at: usize) -> Cow<'_, Value> {
        let value = |line: &EntryLine| serde_json::from_str(line.json().as_str()).ok();
        Cow::Owned(self.0.get(at).and_then(value).unwrap_or_default())
    }
}

impl Engine {
    /// Writes the session as one HTML file and returns its path, as it was given. The file is `target`, or a file
    /// in the working directory with a name from the session. `target` may be relative or begin with `~`, like the
    /// paths of tools. Fails for a session that is not stored, and before its first message. Fails if the file
    /// cannot be written. An existing file is replaced only if it is an exported page.
    pub async fn export(&self, target: Option<&str>) -> Result<PathBuf, ExportPageError> {
        if let Some(remote) = &self.shared.remote {
            return remote.agent.export(target).await.map_err(ExportPageError::Remote);
        }
        let options = &self.shared.options;
        let (secrets, unknown) = options.catalog.secrets().await;
        for reason in unknown {
            tracing::warn!("an export may contain a secret that cannot be read: {reason}");
        }
        let (path, snapshot) = {
            let state = self.shared.state();
            let session = &state.session;
            let file = session.file().ok_or(ExportPageError::InMemory)?;
            if !session.is_persisted() && !options.profile.export.exports_empty_sessions {
                return Err(ExportPageError::Empty);
            }
            let path = target.map_or_else(
                || export::default_name(options.profile.export.name_prefix, file),
                PathBuf::from,
            );
            let tools = options.tools.iter();
            let snapshot = ExportSnapshot {
                header: session.header().json().to_owned(),
                entries: EntryLines(session.entries().iter().map(Entry::line).collect()),
                leaf: session.leaf().map(|leaf| leaf.id().to_string()),
                prompt: self.shared.system_prompt(),
                tools: tools.map(|tool| (tool.name().to_owned(), tool.description().to_owned())).collect(),
                secrets: secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect(),
            };
            (path, snapshot)
        };
        let target = resolve_path(&options.context.cwd, &path.to_string_lossy());
        let written = tokio::task::spawn_blocking(move || write(&snapshot, &target)).await;
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        Ok(path)
    }
}

fn write(snapshot: &ExportSnapshot, target: &Path) -> Result<(), ExportError> {
    let header = serde_json::from_str(&snapshot.header).unwrap_or_default();
    let transcript = ExportInput {
        leaf: snapshot.leaf.as_deref(),
        system_prompt: Some(snapshot.prompt.as_str()).filter(|prompt| !prompt.is_empty()),
        tools: &snapshot.tools,
        secrets: &snapshot.secrets,
        ..ExportInput::new(&header, &snapshot.entries)
    };
    export::write(&transcript, target)
}
