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

use super::around::Around;
use super::connection::Connection;
use super::definition::{Definition, Launch};
use super::failure::explain_start;
use super::fault::Fault;
use super::handler::{Handler, Progress};
use super::http;
use super::secrets::Secrets;
use super::stdio::{Junk, Stdio};
use crate::tools::{CommandLine, Exit, Noise, Running, signal_name};

/// Time limit for the end of a server after the end of its input.
const GRACE: Duration = Duration::from_millis(500);
/// Time limit for the end of a connection.
const CLOSE: Duration = Duration::from_secs(3);
/// Waiting time for the end of a program after the end of its output.
const AFTER_EOF: Duration = Duration::from_secs(1);

/// Reason for a failed start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotStarted {
    pub why: String,
    /// True if another attempt may succeed.
    pub again: bool,
}

/// A server that has started.
pub(super) struct Life {
    pub connection: Connection,
    /// Notified when its tools or prompts change.
    pub changed: Arc<tokio::sync::Notify>,
    /// Resolves at the end of the connection; dropping it ends the connection. `None` after the end.
    over: Option<BoxFuture<'static, ()>>,
    cancel: rmcp::service::RunningServiceCancellationToken,
    program: Option<Program>,
}

/// The program of a server.
struct Program {
    running: Box<dyn Running>,
    noise: Arc<Noise>,
    secrets: Secrets,
}

impl Life {
    /// Starts a server according to its definition and performs the handshake. The caller drops the future
    /// after the time limit.
    pub async fn start(definition: &Definition, around: &Around) -> Result<Self, NotStarted> {
        match Self::start_as(definition, around, ClientLifecycleMode::Initialize).await {
            Err(Refused::Hello(NotStarted { .. })) => {
                // The server may only support protocol versions without that handshake.
                let newest =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] };
                Self::start_as(definition, around, newest).await.map_err(Refused::into_inner)
            }
            started => started.map_err(Refused::into_inner),
        }
    }

    async fn start_as(
        definition: &Definition,
        around: &Around,
        hello: ClientLifecycleMode,
    ) -> Result<Self, Refused> {
        let secrets = Secrets::of(definition);
        let (progress, changed, fault) = (Progress::default(), Arc::default(), Fault::default());
        let handler = Handler { progress: progress.clone(), changed };
        let changed = handler.changed.clone();
        let (service, program) = match &definition.launch {
            Launch::Never(why) => return Err(Refused::Other(NotStarted { why: why.clone(), again: false })),
            Launch::Program { program, arguments, environment, cwd } => {
                let line = CommandLine {
                    program: program.clone(),
                    arguments: arguments.clone(),
                    cwd: cwd.clone(),
                    environment: environment.clone(),
                    hidden: around.hidden.clone(),
                };
                let (transport, mut program) =
                    program_of(definition, &line, around, &secrets, &fault).await?;
                match say_hello(handler.clone(), transport, hello).await {
                    Ok(service) => (service, Some(program)),
                    Err(refused) => return Err(program.last_words(refused).await),
                }
            }
            Launch::Http { url, headers } => {
                let client = around.http.clone();
                // Reading the system's certificates takes time.
                let client = tokio::task::spawn_blocking(move || client.get().cloned()).await;
                let client = client.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
                let never = |why| Refused::Other(NotStarted { why, again: false });
                let client = client.map_err(|failure| never(failure.text))?;
                let transport = http::transport(client, url, headers).map_err(never)?;
                let service = say_hello(handler.clone(), transport, hello).await;
                (service.map_err(|refused| refused.hiding(&secrets))?, None)
            }
        };
        let connection = Connection { peer: service.peer().clone(), progress, fault, secrets };
        listen(&connection, handler);
        let cancel = service.cancellation_token();
        let over = Some(service.waiting().map(drop).boxed());
        Ok(Self { connection, changed, over, cancel, program })
    }

    /// Waits until the server ends by itself. The future may be dropped and requested again.
    pub async fn ended(&mut self) {
        let Some(over) = &mut self.over else { return };
        tokio::select! {
            () = over => self.over = None,
            () = self.connection.fault.wait() => {}
        }
    }

    /// Ends the server if it is still running. Returns the reason for an unexpected end.
    pub async fn end(self, asked: bool) -> String {
        let Self { connection, over, cancel, program, .. } = self;
        let fault = connection.fault.why().map(str::to_owned);
        connection.fault.set("it has ended");
        cancel.cancel();
        if let Some(over) = over {
            let _ = timeout(CLOSE, over).await;
        }
        let Some(mut program) = program else {
            return fault.unwrap_or_else(|| "it closed the connection".to_owned());
        };
        let exit = timeout(if asked { GRACE } else { AFTER_EOF }, program.running.wait()).await;
        program.running.end().await;
        fault.unwrap_or_else(|| program.obituary(exit.ok().and_then(Result::ok)))
    }
}

/// Reason for a failed start.
enum Refused {
    /// The server does not support the handshake.
    Hello(NotStarted),
    Other(NotStarted),
}

impl Refused {
    fn of(error: &ClientInitializeError) -> Self {
        let why = explain_start(error);
        match error {
            ClientInitializeError::JsonRpcError(_) => Self::Hello(NotStarted { why, again: false }),
            error if error.is_authorization_required() => Self::Other(NotStarted { why, again: false }),
            _ => Self::Other(NotStarted { why, again: true }),
        }
    }

    fn into_inner(self) -> NotStarted {
        match self {
            Self::Hello(why) | Self::Other(why) => why,
        }
    }

    fn with(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Hello(NotStarted { why, again }) => Self::Hello(NotStarted { why: change(why), again }),
            Self::Other(NotStarted { why, again }) => Self::Other(NotStarted { why: change(why), again }),
        }
    }

    fn hiding(self, secrets: &Secrets) -> Self {
        self.with(|why| secrets.hide(&why).into_owned())
    }
}

async fn say_hello<T, E, A>(
    handler: Handler,
    transport: T,
    hello: ClientLifecycleMode,
) -> Result<RunningService<RoleClient, Handler>, Refused>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let service = serve_client_with_lifecycle(handler, transport, hello).await;
    service.map_err(|error| Refused::of(&error))
}

/// Starts the program of a server.
async fn program_of(
    definition: &Definition,
    line: &CommandLine,
    around: &Around,
    secrets: &Secrets,
    fault: &Fault,
) -> Result<(Stdio, Program), Refused> {
    let talking = around.spawner.talk(line).await.map_err(|error| {
        let why = format!("{} did not start: {error}", line.program.to_string_lossy());
        Refused::Other(NotStarted { why: secrets.hide(&why).into_owned(), again: false })
    })?;
    let name = format!("mcp:{}", definition.name);
    let noise = Arc::<Noise>::default();
    let junk = Junk { name: name.clone(), noise: noise.clone(), secrets: secrets.clone() };
    let (stdio, running, errors) = Stdio::new(talking, junk, fault.clone());
    let (heard, hidden) = (noise.clone(), secrets.clone());
    // Ends with stderr, which ends with the process group.
    tokio::spawn(async move {
        heard.pass_on(errors, || name.clone(), &hidden).await;
    });
    Ok((stdio, Program { running, noise, secrets: secrets.clone() }))
}

impl Program {
    /// Adds the exit of the program to the reason for a failed start.
    async fn last_words(&mut self, refused: Refused) -> Refused {
        let exit = timeout(AFTER_EOF, self.running.wait()).await.ok().and_then(Result::ok);
        self.running.end().await;
        match exit {
            Some(exit) => {
                let how = self.obituary(Some(exit));
                refused.with(|_| format!("it did not start: {how}"))
            }
            None => refused.hiding(&self.secrets),
        }
    }

    fn obituary(&self, exit: Option<Exit>) -> String {
        let how: Cow<'_, str> = match exit {
            Some(Exit::Code(code)) => format!("its process ended with code {code}").into(),
            Some(Exit::Signal(signal)) => format!("signal {} ended its process", signal_name(signal)).into(),
            None => "it closed its stdout".into(),
        };
        match self.noise.last_words() {
            words if words.is_empty() => how.into_owned(),
            words => format!("{how}: {}", self.secrets.hide(&words)),
        }
    }
}

/// Subscribes to changes, which newer servers report only to subscribers.
fn listen(connection: &Connection, handler: Handler) {
    let newer = connection.peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize());
    if !newer {
        return;
    }
    let (peer, fault) = (connection.peer.clone(), connection.fault.clone());
    tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
        let listening = async {
            let Ok(mut news) = peer.listen(filter).await else { return };
            while let Ok(Some(notification)) = news.next().await {
                handler.heard(&notification);
            }
        };
        tokio::select! {
            () = listening => {}
            () = fault.wait() => {}
        }
    });
}
