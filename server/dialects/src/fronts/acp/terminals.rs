//! Terminals of the client: commands of the model run there, visible to the user.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentese::acp::{
    AcpCreateTerminal, AcpDone, AcpExitStatus, AcpKillTerminal, AcpNamedValue, AcpReleaseTerminal,
    AcpTerminal, AcpTerminalOutput, AcpTerminalText, AcpWaitForExit,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWriteExt, DuplexStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::sink::Sink;
use crate::desk::Parts;
use crate::tools::{Bash, CommandLine, Exit, Running, Spawner, Tool, ToolContext, ToolOutput, signal_name};

/// The amount of output that a client stores for one command, in bytes.
const KEPT: u64 = 8 << 20;

/// The time limit for a client to end a command.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lets the tool for commands use terminals of the client, if the client offers them.
pub(super) fn put(parts: &mut Parts, client: &Arc<Client>, sink: &Arc<Sink>) {
    let Some(bash) = parts.options.tools.get(Bash.name()).filter(|_| client.has_terminals()).cloned() else {
        return;
    };
    parts.options.tools.add(Arc::new(InTerminal { bash, client: client.clone(), sink: sink.clone() }));
}

/// The tool for commands, with commands that run in a terminal of the client.
struct InTerminal {
    bash: Arc<dyn Tool>,
    client: Arc<Client>,
    sink: Arc<Sink>,
}

impl Tool for InTerminal {
    fn name(&self) -> &str {
        self.bash.name()
    }

    fn description(&self) -> &str {
        self.bash.description()
    }

    fn parameters(&self) -> Value {
        self.bash.parameters()
    }

    fn read_only(&self) -> bool {
        self.bash.read_only()
    }

    fn snippet(&self) -> Option<&str> {
        self.bash.snippet()
    }

    fn guidelines(&self) -> &[String] {
        self.bash.guidelines()
    }

    fn is_terminal(&self) -> bool {
        self.bash.is_terminal()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let mut context = context.clone();
            context.spawner = Arc::new(Terminals {
                client: self.client.clone(),
                sink: self.sink.clone(),
                call: context.call_id.clone(),
            });
            self.bash.execute(&context, arguments).await
        }
        .boxed()
    }
}

/// Starts commands in terminals of the client, for one call.
struct Terminals {
    client: Arc<Client>,
    sink: Arc<Sink>,
    call: Option<String>,
}

impl Spawner for Terminals {
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn Running>>> {
        async move {
            let shown = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
            let session = self.sink.id().to_owned();
            let mut asked = AcpCreateTerminal::new(session.as_str(), shown(&command.program));
            asked.args = command.arguments.iter().map(shown).collect::<Vec<_>>().into();
            let pairs = command.environment.iter();
            asked.env = pairs
                .map(|(name, value)| AcpNamedValue::new(shown(name), shown(value)))
                .collect::<Vec<_>>()
                .into();
            asked.cwd = command.cwd.to_string_lossy().into_owned().into();
            asked.output_byte_limit = KEPT.into();
            let terminal =
                self.client.request::<AcpTerminal>(asked).await.map_err(io::Error::other)?.terminal_id;
            if let Some(call) = &self.call {
                self.sink.opened(call, &terminal);
            }
            let (output, written) = tokio::io::duplex(64 << 10);
            let (told, ended) = watch::channel(None);
            let (stop, over) = (CancellationToken::new(), CancellationToken::new());
            let watching = Watching { client: self.client.clone(), session, terminal, stop: stop.clone() };
            let done = over.clone();
            tokio::spawn(async move {
                let _done = done.drop_guard();
                watching.until_end(written, told).await;
            });
            Ok(Box::new(InTerminalNow { output: Some(output), ended, stop, over }) as Box<dyn Running>)
        }
        .boxed()
    }
}

/// The exit of a command, or the reason why its exit is unknown.
type End = Option<Result<Exit, String>>;

/// Watches a command and releases its terminal.
struct Watching {
    client: Arc<Client>,
    session: String,
    terminal: String,
    /// Cancelled to end the command.
    stop: CancellationToken,
}

impl Watching {
    async fn until_end(self, mut written: DuplexStream, told: watch::Sender<End>) {
        let (session, terminal) = (self.session.as_str(), self.terminal.as_str());
        let wait = || self.client.request::<AcpExitStatus>(AcpWaitForExit::new(session, terminal));
        let ended = tokio::select! {
            biased;
            ended = wait() => ended,
            () = self.stop.cancelled() => {
                let killed = self.client.request::<Option<AcpDone>>(AcpKillTerminal::new(session, terminal));
                match tokio::time::timeout(PATIENCE, async { killed.await?; wait().await }).await {
                    Ok(ended) => ended,
                    Err(_) => Err("the client did not end it".to_owned()),
                }
            }
        };
        let output = self.client.request::<AcpTerminalText>(AcpTerminalOutput::new(session, terminal));
        if let Ok(Ok(output)) = tokio::time::timeout(PATIENCE, output).await {
            if output.truncated {
                let _ = written.write_all(b"[The beginning of the output is missing.]\n").await;
            }
            // The reader may have been dropped.
            let _ = written.write_all(output.output.as_bytes()).await;
        }
        drop(written);
        let _ = told.send(Some(ended.and_then(exit)));
        let released = self.client.request::<Option<AcpDone>>(AcpReleaseTerminal::new(session, terminal));
        let _ = tokio::time::timeout(PATIENCE, released).await;
    }
}

fn exit(status: AcpExitStatus) -> Result<Exit, String> {
    if let Some(code) = status.exit_code.into_option().and_then(|code| i32::try_from(code).ok()) {
        return Ok(Exit::Code(code));
    }
    match status.signal.into_option() {
        Some(name) => (1..=64)
            .find(|number| signal_name(*number) == name)
            .map(Exit::Signal)
            .ok_or_else(|| format!("it was ended by {name}")),
        None => Err("the client does not know how it ended".to_owned()),
    }
}

/// A command in a terminal. Dropping the value ends the command.
struct InTerminalNow {
    output: Option<DuplexStream>,
    ended: watch::Receiver<End>,
    stop: CancellationToken,
    /// Cancelled after the terminal has been released.
    over: CancellationToken,
}

impl Running for InTerminalNow {
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin> {
        match self.output.take() {
            Some(output) => Box::new(output),
            None => Box::new(tokio::io::empty()),
        }
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>> {
        async move {
            let ended = self.ended.wait_for(Option::is_some).await;
            let ended = ended.map(|ended| ended.clone()).unwrap_or_default();
            ended.unwrap_or_else(|| Err("nobody watches it any more".to_owned())).map_err(io::Error::other)
        }
        .boxed()
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        async move {
            self.stop.cancel();
            let _ = tokio::time::timeout(2 * PATIENCE, self.wait()).await;
        }
        .boxed()
    }
}

impl Drop for InTerminalNow {
    fn drop(&mut self) {
        if !self.over.is_cancelled() {
            self.stop.cancel();
        }
    }
}
