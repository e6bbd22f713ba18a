//! Access to files through the client, and copies of files made before a tool call writes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::acp::{AcpDone, AcpFileText, AcpReadTextFile, AcpWriteTextFile};
use agentese::types::ToolCall;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::client::ClientConnection;
use super::sink::Sink;
use crate::conversation::AgentComponents;
use crate::dialects::blocking::blocking;
use crate::engine::Hooks;
use crate::tools::{EditorFiles, resolve_path};

/// The maximum length of a file that is copied to show a diff, in bytes.
const MAX_DIFF_BYTES: u64 = 1 << 20;

/// Lets tools read and write files through the client, if the client offers that.
pub(super) fn install(components: &mut AgentComponents, client: &Arc<ClientConnection>, sink: &Arc<Sink>) {
    let (reads, writes) = client.files();
    let files = Arc::new(ClientFiles { client: client.clone(), sink: sink.clone(), reads, writes });
    if reads || writes {
        components.options.context.editor_files = Some(files.clone());
    }
    components
        .options
        .hooks
        .push(Arc::new(PreviousContentHook { files, cwd: components.options.context.cwd.clone() }));
}

struct ClientFiles {
    client: Arc<ClientConnection>,
    sink: Arc<Sink>,
    reads: bool,
    writes: bool,
}

impl EditorFiles for ClientFiles {
    fn can_read(&self) -> bool {
        self.reads
    }

    fn can_write(&self) -> bool {
        self.writes
    }

    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let request = AcpReadTextFile::new(self.sink.session_id(), path.to_string_lossy());
            Ok(self.client.request::<AcpFileText>(request).await?.content)
        }
        .boxed()
    }

    fn write<'a>(&'a self, path: &'a Path, text: String) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let request = AcpWriteTextFile::new(self.sink.session_id(), path.to_string_lossy(), text);
            // Null is equivalent to an empty object.
            self.client.request::<Option<AcpDone>>(request).await.map(drop)
        }
        .boxed()
    }
}

/// Copies the content of a file before a tool call writes it, so that the client can show the difference.
struct PreviousContentHook {
    files: Arc<ClientFiles>,
    cwd: PathBuf,
}

impl Hooks for PreviousContentHook {
    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let path = call.arguments.get("path").and_then(|path| path.as_str());
            if let Some(path) = path.filter(|_| call.name == "write") {
                let (cwd, given) = (self.cwd.clone(), path.to_owned());
                let path = blocking(move || resolve_path(&cwd, &given)).await;
                let content = match self.files.reads {
                    true => self.files.read(&path).await.ok(),
                    false => blocking(move || text(&path)).await,
                };
                if let Some(content) = content {
                    self.files.sink.remember(&call.id, content);
                }
            }
            Ok(())
        }
        .boxed()
    }
}

/// Returns the text of a file up to the maximum length. Blocks.
fn text(path: &Path) -> Option<String> {
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.len() <= MAX_DIFF_BYTES).then(|| std::fs::read_to_string(path).ok())?
}
