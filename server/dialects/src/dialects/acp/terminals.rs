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

use super::client::ClientConnection;
use super::sink::Sink;
use crate::conversation::AgentComponents;
use crate::tools::{
    BashTool, CommandLine, Exit, ProcessHandle, Spawner, Tool, ToolContext, ToolOutput, signal_name,
};

/// The amount of output that a client stores for one command, in bytes.
const MAX_OUTPUT_BYTES: u64 = 8 << 20;

/// The time limit for the client to kill a command.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Lets the shell tool run its commands in terminals of the client, if the client offers them.
pub(super) fn install(components: &mut AgentComponents, client: &Arc<ClientConnection>, sink: &Arc<Sink>) {
    let Some(bash) =
        components.options.tools.get(BashTool.name()).filter(|_| client.has_terminals()).cloned()
    else {
        return;
    };
    components.options.tools.add(Arc::new(TerminalTool { bash, client: client.clone(), sink: sink.clone() }));
}

/// The shell tool, with a terminal of the client in place of a local process.
struct TerminalTool {
    bash: Arc<dyn Tool>,
    client: Arc<ClientConnection>,
    sink: Arc<Sink>,
}

impl Tool for TerminalTool {
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
            context.spawner = Arc::new(TerminalSpawner {
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
struct TerminalSpawner {
    client: Arc<ClientConnection>,
    sink: Arc<Sink>,
    call: Option<String>,
}

impl Spawner for TerminalSpawner {
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn ProcessHandle>>> {
        async move {
            let to_text = |text: &std::ffi::OsString| text.to_string_lossy().into_owned();
            let session = self.sink.session_id().to_owned();
            let mut request = AcpCreateTerminal::new(session.as_str(), to_text(&command.program));
            request.args = command.arguments.iter().map(to_text).collect::<Vec<_>>().into();
            let pairs = command.environment.iter();
            request.env = pairs
                .map(|(name, value)| AcpNamedValue::new(to_text(name), to_text(value)))
                .collect::<Vec<_>>()
                .into();
            request.cwd = command.cwd.to_string_lossy().into_owned().into();
            request.output_byte_limit = MAX_OUTPUT_BYTES.into();
            let terminal =
                self.client.request::<AcpTerminal>(request).await.map_err(io::Error::other)?.terminal_id;
            if let Some(call) = &self.call {
                self.sink.terminal_opened(call, &terminal);
            }
            let (output, written) = tokio::io::duplex(64 << 10);
            let (exit_sender, exit) = watch::channel(None);
            let (stop, released) = (CancellationToken::new(), CancellationToken::new());
            let watcher =
                TerminalWatcher { client: self.client.clone(), session, terminal, stop: stop.clone() };
            let done = released.clone();
            tokio::spawn(async move {
                let _done = done.drop_guard();
                watcher.watch(written, exit_sender).await;
            });
            Ok(Box::new(TerminalProcess { output: Some(output), exit, stop, released })
                as Box<dyn ProcessHandle>)
        }
        .boxed()
    }
}

/// The exit of a command, or the reason why it is unknown; `None` while the command runs.
type TerminalExit = Option<Result<Exit, String>>;

/// Waits for the end of a command, then releases its terminal.
struct TerminalWatcher {
    client: Arc<ClientConnection>,
    session: String,
    terminal: String,
    /// Cancelled to end the command.
    stop: CancellationToken,
}

impl TerminalWatcher {
    async fn watch(self, mut written: DuplexStream, exit_sender: watch::Sender<TerminalExit>) {
        let (session, terminal) = (self.session.as_str(), self.terminal.as_str());
        let wait = || self.client.request::<AcpExitStatus>(AcpWaitForExit::new(session, terminal));
        let ended = tokio::select! {
            biased;
            ended = wait() => ended,
            () = self.stop.cancelled() => {
                let killed = self.client.request::<Option<AcpDone>>(AcpKillTerminal::new(session, terminal));
                match tokio::time::timeout(CLIENT_TIMEOUT, async { killed.await?; wait().await }).await {
                    Ok(ended) => ended,
                    Err(_) => Err("the client did not kill the terminal".to_owned()),
                }
            }
        };
        let output = self.client.request::<AcpTerminalText>(AcpTerminalOutput::new(session, terminal));
        if let Ok(Ok(output)) = tokio::time::timeout(CLIENT_TIMEOUT, output).await {
            if output.truncated {
                let _ = written.write_all(b"[The beginning of the output is missing.]\n").await;
            }
            // The reader may have been dropped.
            let _ = written.write_all(output.output.as_bytes()).await;
        }
        drop(written);
        let _ = exit_sender.send(Some(ended.and_then(exit_result)));
        let released = self.client.request::<Option<AcpDone>>(AcpReleaseTerminal::new(session, terminal));
        let _ = tokio::time::timeout(CLIENT_TIMEOUT, released).await;
    }
}

fn exit_result(status: AcpExitStatus) -> Result<Exit, String> {
    if let Some(code) = status.exit_code.into_option().and_then(|code| i32::try_from(code).ok()) {
        return Ok(Exit::Code(code));
    }
    match status.signal.into_option() {
        Some(name) => (1..=64)
            .find(|number| signal_name(*number) == name)
            .map(Exit::Signal)
            .ok_or_else(|| format!("it was ended by the unknown signal {name}")),
        None => Err("the client reported neither an exit code nor a signal".to_owned()),
    }
}

/// A command that runs in a terminal. Dropping the value ends the command.
struct TerminalProcess {
    output: Option<DuplexStream>,
    exit: watch::Receiver<TerminalExit>,
    stop: CancellationToken,
    /// Cancelled after the terminal has been released.
    released: CancellationToken,
}

impl ProcessHandle for TerminalProcess {
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin> {
        match self.output.take() {
            Some(output) => Box::new(output),
            None => Box::new(tokio::io::empty()),
        }
    }

    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>> {
        async move {
            let ended = self.exit.wait_for(Option::is_some).await;
            let ended = ended.map(|ended| ended.clone()).unwrap_or_default();
            ended.unwrap_or_else(|| Err("its watcher task has ended".to_owned())).map_err(io::Error::other)
        }
        .boxed()
    }

    fn end(&mut self) -> BoxFuture<'_, ()> {
        async move {
            self.stop.cancel();
            let _ = tokio::time::timeout(2 * CLIENT_TIMEOUT, self.wait()).await;
        }
        .boxed()
    }
}

impl Drop for TerminalProcess {
    fn drop(&mut self) {
        if !self.released.is_cancelled() {
            self.stop.cancel();
        }
    }
}
