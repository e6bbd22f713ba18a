//! One run of a server, from its start to its end.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use tokio::time::timeout;

use super::connection::Connection;
use super::context::ServerContext;
use super::definition::{ServerDefinition, TransportConfig};
use super::disconnect::DisconnectSignal;
use super::error_messages::explain_start;
use super::handler::{Handler, ProgressRouter};
use super::http;
use super::secrets::Secrets;
use super::stdio::{InvalidLineReporter, Stdio};
use crate::tools::{CommandLine, Exit, ProcessHandle, StderrForwarder, signal_name};

/// Time limit for a program to end after its stdin was closed.
const GRACE: Duration = Duration::from_millis(500);
/// Time limit for closing a connection.
const CLOSE: Duration = Duration::from_secs(3);
/// Time to wait for the end of a program that has closed its stdout.
const AFTER_EOF: Duration = Duration::from_secs(1);

/// Reason for a failed start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerStartError {
    pub reason: String,
    /// True if another attempt to start the server may succeed.
    pub is_retryable: bool,
}

/// A server that has started.
pub(super) struct RunningServer {
    pub connection: Connection,
    /// Notified when its tools or prompts change.
    pub changed: Arc<tokio::sync::Notify>,
    /// Completes when the connection ends. Dropping it ends the connection. `None` after it has completed.
    completion: Option<BoxFuture<'static, ()>>,
    cancel: rmcp::service::RunningServiceCancellationToken,
    program: Option<Program>,
}

/// The program of a server.
struct Program {
    running: Box<dyn ProcessHandle>,
    stderr: Arc<StderrForwarder>,
    secrets: Secrets,
}

impl RunningServer {
    /// Starts the server of a definition, and performs the handshake. The caller limits the time and drops the future
    /// after it.
    pub async fn start(
        definition: &ServerDefinition,
        context: &ServerContext,
    ) -> Result<Self, ServerStartError> {
        match Self::start_with(definition, context, ClientLifecycleMode::Initialize).await {
            Err(ConnectError::Handshake(ServerStartError { .. })) => {
                // The server may only support protocol versions without that handshake.
                let newest =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
                Self::start_with(definition, context, newest).await.map_err(ConnectError::into_inner)
            }
            started => started.map_err(ConnectError::into_inner),
        }
    }

    async fn start_with(
        definition: &ServerDefinition,
        context: &ServerContext,
        mode: ClientLifecycleMode,
    ) -> Result<Self, ConnectError> {
        let secrets = Secrets::of(definition);
        let (progress, changed, disconnect) =
            (ProgressRouter::default(), Arc::default(), DisconnectSignal::default());
        let handler = Handler { progress: progress.clone(), changed };
        let changed = handler.changed.clone();
        let (service, program) = match &definition.transport {
            TransportConfig::Invalid(why) => {
                return Err(ConnectError::Other(ServerStartError {
                    reason: why.clone(),
                    is_retryable: false,
                }));
            }
            TransportConfig::Program { program, arguments, environment, cwd } => {
                let line = CommandLine {
                    program: program.clone(),
                    arguments: arguments.clone(),
                    cwd: cwd.clone(),
                    environment: environment.clone(),
                    hidden: context.hidden.clone(),
                };
                let (transport, mut program) =
                    spawn_program(definition, &line, context, &secrets, &disconnect).await?;
                match handshake(handler.clone(), transport, mode).await {
                    Ok(service) => (service, Some(program)),
                    Err(error) => return Err(program.with_exit_reason(error).await),
                }
            }
            TransportConfig::Http { url, headers } => {
                let client = context.http.clone();
                // Reading the system's certificates takes time.
                let client = tokio::task::spawn_blocking(move || client.get().cloned()).await;
                let client = client.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
                let never = |why| ConnectError::Other(ServerStartError { reason: why, is_retryable: false });
                let client = client.map_err(|failure| never(failure.text))?;
                let transport = http::transport(client, url, headers).map_err(never)?;
                let service = handshake(handler.clone(), transport, mode).await;
                (service.map_err(|error| error.redacted(&secrets))?, None)
            }
        };
        let connection = Connection { peer: service.peer().clone(), progress, disconnect, secrets };
        subscribe_to_changes(&connection, handler);
        let cancel = service.cancellation_token();
        let completion = Some(service.waiting().map(drop).boxed());
        Ok(Self { connection, changed, completion, cancel, program })
    }

    /// Waits until the server ends by itself. If the future is dropped, a later call can continue to wait.
    pub async fn ended(&mut self) {
        let Some(completion) = &mut self.completion else { return };
        tokio::select! {
            () = completion => self.completion = None,
            () = self.connection.disconnect.wait() => {}
        }
    }

    /// Ends the server if it still runs. Returns the reason if it ended without a request.
    pub async fn end(self, is_requested: bool) -> String {
        let Self { connection, completion, cancel, program, .. } = self;
        let reason = connection.disconnect.reason().map(str::to_owned);
        connection.disconnect.set("it has ended");
        cancel.cancel();
        if let Some(completion) = completion {
            let _ = timeout(CLOSE, completion).await;
        }
        let Some(mut program) = program else {
            return reason.unwrap_or_else(|| "it closed the connection".to_owned());
        };
        let exit = timeout(if is_requested { GRACE } else { AFTER_EOF }, program.running.wait()).await;
        program.running.end().await;
        reason.unwrap_or_else(|| program.exit_reason(exit.ok().and_then(Result::ok)))
    }
}

/// The reason why a connection could not be established.
enum ConnectError {
    /// The server does not support the handshake.
    Handshake(ServerStartError),
    Other(ServerStartError),
}

impl ConnectError {
    fn of(error: &ClientInitializeError) -> Self {
        let why = explain_start(error);
        match error {
            ClientInitializeError::JsonRpcError(_) => {
                Self::Handshake(ServerStartError { reason: why, is_retryable: false })
            }
            error if error.is_authorization_required() => {
                Self::Other(ServerStartError { reason: why, is_retryable: false })
            }
            _ => Self::Other(ServerStartError { reason: why, is_retryable: true }),
        }
    }

    fn into_inner(self) -> ServerStartError {
        match self {
            Self::Handshake(why) | Self::Other(why) => why,
        }
    }

    fn map_reason(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Handshake(ServerStartError { reason: why, is_retryable: again }) => {
                Self::Handshake(ServerStartError { reason: change(why), is_retryable: again })
            }
            Self::Other(ServerStartError { reason: why, is_retryable: again }) => {
                Self::Other(ServerStartError { reason: change(why), is_retryable: again })
            }
        }
    }

    fn redacted(self, secrets: &Secrets) -> Self {
        self.map_reason(|why| secrets.redact(&why).into_owned())
    }
}

async fn handshake<T, E, A>(
    handler: Handler,
    transport: T,
    mode: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, ConnectError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let service = serve_client_with_lifecycle(handler, transport, mode).await;
    service.map_err(|error| ConnectError::of(&error))
}

/// Starts the program of a server.
async fn spawn_program(
    definition: &ServerDefinition,
    line: &CommandLine,
    context: &ServerContext,
    secrets: &Secrets,
    disconnect: &DisconnectSignal,
) -> Result<(Stdio, Program), ConnectError> {
    let process = context.spawner.spawn_piped(line).await.map_err(|error| {
        let why = format!("{} did not start: {error}", line.program.to_string_lossy());
        ConnectError::Other(ServerStartError {
            reason: secrets.redact(&why).into_owned(),
            is_retryable: false,
        })
    })?;
    let name = format!("mcp:{}", definition.name);
    let stderr = Arc::<StderrForwarder>::default();
    let reporter =
        InvalidLineReporter { name: name.clone(), stderr: stderr.clone(), secrets: secrets.clone() };
    let (stdio, running, errors) = Stdio::new(process, reporter, disconnect.clone());
    let (forwarder, hidden) = (stderr.clone(), secrets.clone());
    // Ends with stderr, which ends with the process group.
    tokio::spawn(async move {
        forwarder.forward(errors, || name.clone(), &hidden).await;
    });
    Ok((stdio, Program { running, stderr, secrets: secrets.clone() }))
}

impl Program {
    /// Returns the error with the exit status of the program added to its reason.
    async fn with_exit_reason(&mut self, error: ConnectError) -> ConnectError {
        let exit = timeout(AFTER_EOF, self.running.wait()).await.ok().and_then(Result::ok);
        self.running.end().await;
        match exit {
            Some(exit) => {
                let how = self.exit_reason(Some(exit));
                error.map_reason(|_| format!("it did not start: {how}"))
            }
            None => error.redacted(&self.secrets),
        }
    }

    fn exit_reason(&self, exit: Option<Exit>) -> String {
        let how: Cow<'_, str> = match exit {
            Some(Exit::Code(code)) => format!("its process ended with code {code}").into(),
            Some(Exit::Signal(signal)) => format!("signal {} ended its process", signal_name(signal)).into(),
            None => "it closed its stdout".into(),
        };
        match self.stderr.last_line() {
            words if words.is_empty() => how.into_owned(),
            words => format!("{how}: {}", self.secrets.redact(&words)),
        }
    }
}

/// Subscribes to notifications of changes. Newer servers send them only to subscribers.
fn subscribe_to_changes(connection: &Connection, handler: Handler) {
    let newer = connection.peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize());
    if !newer {
        return;
    }
    let (peer, disconnect) = (connection.peer.clone(), connection.disconnect.clone());
    tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
        let listening = async {
            let Ok(mut notifications) = peer.listen(filter).await else { return };
            while let Ok(Some(notification)) = notifications.next().await {
                handler.handle_notification(&notification);
            }
        };
        tokio::select! {
            () = listening => {}
            () = disconnect.wait() => {}
        }
    });
}
