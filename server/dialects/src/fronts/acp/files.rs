//! Files of the client, and the content of files before a call writes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::acp::{AcpDone, AcpFileText, AcpReadTextFile, AcpWriteTextFile};
use agentese::types::ToolCall;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::client::Client;
use super::sink::Sink;
use crate::desk::Parts;
use crate::engine::Hooks;
use crate::fronts::blocking::blocking;
use crate::tools::{TextFiles, resolve_path};

/// The maximum length of a text that is stored for a diff, in bytes.
const LONGEST: u64 = 1 << 20;

/// Lets tools use the files of the client, if the client offers them.
pub(super) fn put(parts: &mut Parts, client: &Arc<Client>, sink: &Arc<Sink>) {
    let (reads, writes) = client.files();
    let files = Arc::new(Files { client: client.clone(), sink: sink.clone(), reads, writes });
    if reads || writes {
        parts.options.context.files = Some(files.clone());
    }
    parts.options.hooks.push(Arc::new(Before { files, cwd: parts.options.context.cwd.clone() }));
}

struct Files {
    client: Arc<Client>,
    sink: Arc<Sink>,
    reads: bool,
    writes: bool,
}

impl TextFiles for Files {
    fn reads(&self) -> bool {
        self.reads
    }

    fn writes(&self) -> bool {
        self.writes
    }

    fn read<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<String, String>> {
        async move {
            let asked = AcpReadTextFile::new(self.sink.id(), path.to_string_lossy());
            Ok(self.client.request::<AcpFileText>(asked).await?.content)
        }
        .boxed()
    }

    fn write<'a>(&'a self, path: &'a Path, text: String) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let asked = AcpWriteTextFile::new(self.sink.id(), path.to_string_lossy(), text);
            // Null is equivalent to an empty object.
            self.client.request::<Option<AcpDone>>(asked).await.map(drop)
        }
        .boxed()
    }
}

/// Reads files before a call writes them, so that the change can be shown.
struct Before {
    files: Arc<Files>,
    cwd: PathBuf,
}

impl Hooks for Before {
    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let path = call.arguments.get("path").and_then(|path| path.as_str());
            if let Some(path) = path.filter(|_| call.name == "write") {
                let (cwd, given) = (self.cwd.clone(), path.to_owned());
                let path = blocking(move || resolve_path(&cwd, &given)).await;
                let held = match self.files.reads {
                    true => self.files.read(&path).await.ok(),
                    false => blocking(move || text(&path)).await,
                };
                if let Some(held) = held {
                    self.files.sink.remember(&call.id, held);
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
    (metadata.is_file() && metadata.len() <= LONGEST).then(|| std::fs::read_to_string(path).ok())?
}
