//! The host: the loaded extensions, and the requests to them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use agentese::types::{
    ContextHook, HookEvent, HostEvent, HostFrame, OfferedExtension, SessionReason, SessionShutdownHook,
    ToolCallHook,
};
use futures::future::join_all;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::calls::{CallError, PendingCall};
use super::guards::Guards;
use super::outbox::{OutboxItem, ValueUpdate};
use super::pending_starts::PendingStarts;
use super::pre_hooks::PreHooks;
use super::process::Process;
use super::state_subscribers::StateSubscribers;
use super::wire::type_of;
use super::{CommandLineFlag, DiscoveredExtension, ExtensionLimits, NodeHost};
use crate::engine::{Engine, WeakEngine};
use crate::resources::Location;
use crate::tools::Spawner;
use crate::ui::Ui;

/// Maximum time to wait for extensions at the shutdown. The time limit of hooks does not change it.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Options of the host.
#[derive(Clone)]
pub struct HostOptions {
    /// The extensions, in the order in which they are loaded.
    pub extensions: Vec<DiscoveredExtension>,
    /// Limits of time and number.
    pub limits: ExtensionLimits,
    /// The program of the Node host.
    pub node_host: NodeHost,
    /// The folder of the user's settings.
    pub agent_dir: Option<PathBuf>,
    /// Options of the command line that may be flags of extensions.
    pub flags: Vec<CommandLineFlag>,
    /// True if the working directory has extensions that still need trust.
    pub has_untrusted_extensions: bool,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            extensions: Vec::new(),
            limits: ExtensionLimits::default(),
            node_host: NodeHost::Missing,
            agent_dir: None,
            flags: Vec::new(),
            has_untrusted_extensions: false,
        }
    }
}

/// Shared context of the processes.
pub(super) struct HostContext {
    pub spawner: Arc<dyn Spawner>,
    pub cwd: PathBuf,
    /// Names of environment variables that extensions do not inherit.
    pub hidden: Vec<OsString>,
}

/// A loaded extension.
#[derive(Clone)]
pub(super) struct LoadedExtension {
    /// The path by which the agent identifies the extension.
    pub path: String,
    pub process: Arc<Process>,
    /// Registered contents of the extension.
    pub offered: OfferedExtension,
    /// True after the extension exceeded a time limit. It receives no further requests until its late answer arrives.
    pub unresponsive: Arc<AtomicBool>,
}

impl LoadedExtension {
    /// Returns true if the extension subscribes to an event and its process is running.
    pub fn subscribes_to(&self, event: &str) -> bool {
        self.offered.events.iter().flatten().any(|name| name == event) && !self.process.has_ended()
    }
}

#[derive(Default)]
pub(super) struct ExtensionRegistry {
    pub loaded: Vec<LoadedExtension>,
    /// Location of each extension that was found, by the path of its file.
    pub locations: HashMap<String, Location>,
    /// All processes that have not ended.
    pub processes: Vec<Arc<Process>>,
    /// The tools that the model can call. `None` until an extension has chosen them.
    pub active: Option<Vec<String>>,
    /// Cancelled to end all open dialogs.
    pub dialogs: CancellationToken,
}

/// Starts extensions, sends them requests, and carries out their actions. Without extensions the host does
/// nothing.
pub struct Host {
    pub(super) me: Weak<Host>,
    pub(super) options: HostOptions,
    pub(super) context: HostContext,
    registry: Mutex<ExtensionRegistry>,
    pub(super) ui: OnceLock<Arc<dyn Ui>>,
    engine_handle: OnceLock<WeakEngine>,
    /// Cancelled when an extension requests the end of the agent.
    pub(super) stop: CancellationToken,
    ready: CancellationToken,
    closing: AtomicBool,
    /// True after the client has disconnected. Dialogs are then neither displayed nor answered.
    client_disconnected: AtomicBool,
    pub(super) restarts: AtomicU32,
    /// Number of restarts of processes in progress.
    pub(super) pending_restarts: PendingStarts,
    /// Number of loads of extensions in progress.
    pub(super) pending_loads: PendingStarts,
    pub(super) guards: Guards,
    pub(super) state_subscribers: StateSubscribers,
    pub(super) pre_hooks: PreHooks,
    /// Held while extensions are loaded. Loads run one after the other, so that later extensions can share an existing
    /// process.
    pub(super) loading: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<_> = self.registry().loaded.iter().map(|member| member.path.clone()).collect();
        formatter.debug_struct("Host").field("extensions", &paths).finish_non_exhaustive()
    }
}

impl Host {
    /// Creates a host without starting anything. If an extension requests the end of the agent, the host cancels
    /// `stop`.
    pub fn new(
        options: HostOptions,
        spawner: Arc<dyn Spawner>,
        cwd: impl Into<PathBuf>,
        hidden: Vec<OsString>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let context = HostContext { spawner, cwd: cwd.into(), hidden };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            options,
            context,
            registry: Mutex::default(),
            ui: OnceLock::new(),
            engine_handle: OnceLock::new(),
            stop,
            ready: CancellationToken::new(),
            closing: AtomicBool::new(false),
            client_disconnected: AtomicBool::new(false),
            restarts: AtomicU32::new(0),
            pending_restarts: PendingStarts::default(),
            pending_loads: PendingStarts::default(),
            guards: Guards::default(),
            state_subscribers: StateSubscribers::default(),
            pre_hooks: PreHooks::default(),
            loading: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, ExtensionRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine(&self) -> Option<Engine> {
        self.engine_handle.get().and_then(WeakEngine::engine)
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn is_client_disconnected(&self) -> bool {
        self.client_disconnected.load(Ordering::Acquire)
    }

    /// Sets the engine on which the actions of extensions operate. Later calls have no effect.
    pub fn connect(&self, engine: WeakEngine) {
        let _ = self.engine_handle.set(engine);
    }

    /// Starts the extensions. Their dialogs and notices go to `ui`. Requires a Tokio runtime. Later calls have no
    /// effect.
    pub fn start_extensions(&self, ui: Arc<dyn Ui>) {
        if self.ui.set(ui).is_err() {
            return;
        }
        match self.me.upgrade() {
            Some(host) if !self.options.extensions.is_empty() => {
                // No tool runs before the guards are known.
                self.expect(&self.options.extensions);
                let arriving = self.pending_loads.start();
                tokio::spawn(async move {
                    host.load_expected(&host.options.extensions, arriving).await;
                    host.log_flag_warnings();
                    host.set_ready();
                });
            }
            _ => self.set_ready(),
        }
    }

    pub(super) fn set_ready(&self) {
        self.ready.cancel();
    }

    /// Waits until the extensions are loaded and have received the start event. Does not wait for an extension with an
    /// open dialog. The time limits of extensions bound the wait.
    pub async fn ready(&self) {
        self.ready.cancelled().await;
    }

    /// Returns true if the extensions are loaded.
    pub fn is_ready(&self) -> bool {
        self.ready.is_cancelled()
    }

    /// Reports a failure of an extension to the client. If the client has disconnected or the agent is shutting down,
    /// the failure is only logged.
    pub(super) fn report_failure(&self, extension: &str, event: &str, error: &str) {
        if self.is_closing() || self.is_client_disconnected() {
            tracing::warn!("{extension}: {event}: {error}");
        } else if let Some(engine) = self.engine() {
            engine.extension_failed(extension, event, error);
        }
    }

    /// Returns true if failures of listeners for events between extensions are reported to the client.
    pub(super) fn reports_listener_failures(&self) -> bool {
        self.engine().is_some_and(|engine| engine.profile().behavior.reports_listener_failures)
    }

    /// Returns the subscribers to an event, in the order in which they were loaded.
    pub(super) fn subscribers(&self, event: &str) -> Vec<LoadedExtension> {
        self.registry().loaded.iter().filter(|member| member.subscribes_to(event)).cloned().collect()
    }

    /// Returns true if a request about an event is sent before earlier notifications of the same step.
    pub(super) fn overtakes_events(&self, event: &str) -> bool {
        event == type_of::<ContextHook>()
            && self.engine().is_none_or(|engine| engine.profile().extensions.context_request_first)
    }

    /// Returns true if extensions receive a change of the session as the end of one session and the start of another,
    /// with a reason.
    pub(super) fn restarts_sessions(&self) -> bool {
        self.engine().is_some_and(|engine| engine.profile().extensions.session_change_restarts)
    }

    /// Creates the event about the end of a session.
    pub(super) fn shutdown_event(&self, reason: SessionReason) -> SessionShutdownHook {
        let mut event = SessionShutdownHook::new();
        event.reason = self.restarts_sessions().then_some(reason);
        event
    }

    /// Returns true if an extension subscribes to an event.
    pub(super) fn has_subscriber(&self, event: &str) -> bool {
        self.registry().loaded.iter().any(|member| member.subscribes_to(event))
    }

    /// Sends an event to an extension and waits for the answer. A failure is reported to the client. If the extension
    /// repeatedly does not answer, this is reported once.
    pub(super) async fn request(
        &self,
        member: &LoadedExtension,
        event: impl Into<HookEvent>,
    ) -> Result<Value, CallError> {
        let event = event.into();
        let name = event.tag().to_owned();
        if member.unresponsive.load(Ordering::Acquire) {
            return Err(CallError::Disconnected);
        }
        self.refresh(&member.process);
        let path = member.path.clone();
        let frame = |id: String| {
            let mut frame = HostEvent::new(path, event);
            frame.id = Some(id);
            HostFrame::from(frame)
        };
        let call = PendingCall::new(&member.path)
            .overtaking(self.overtakes_events(&name))
            .pre_hook(PreHooks::is_pre_hook(&name));
        let answer = member.process.request(call, frame, Some(self.options.limits.hook)).await;
        match &answer {
            // The outcome of a tool call is its result, not a failure of the extension.
            Err(CallError::Extension(_)) if name == type_of::<ToolCallHook>() => {}
            Err(CallError::Extension(error)) => self.report_failure(&member.path, &name, error),
            Err(CallError::TimedOut(limit)) => self.handle_timeout(member, &name, *limit).await,
            Ok(_) | Err(CallError::Disconnected) => {}
        }
        answer
    }

    /// Sends an event to an extension without waiting for an answer.
    pub(super) fn notify(&self, member: &LoadedExtension, event: HookEvent) {
        if !member.unresponsive.load(Ordering::Acquire) {
            member
                .process
                .send_deferred(OutboxItem::Frame(Box::new(HostEvent::new(&member.path, event).into())));
        }
    }

    /// Sends an extension an update of a value that changes often, such as an answer in progress. A slow
    /// extension receives only some of the updates.
    pub(super) fn notify_update(&self, member: &LoadedExtension, what: Arc<str>, event: Arc<HookEvent>) {
        if !member.unresponsive.load(Ordering::Acquire) {
            member.process.send_deferred(OutboxItem::Update(ValueUpdate {
                extension: member.path.clone(),
                value_id: what,
                event,
            }));
        }
    }

    /// Waits until each extension has read enough of its waiting frames. An extension that reads nothing is ended after
    /// a time limit.
    pub(super) async fn wait_for_capacity(&self) {
        for process in self.processes() {
            process.outbox.wait_for_capacity().await;
        }
    }

    /// Ends all open dialogs without an answer.
    pub(super) fn end_dialogs(&self) {
        std::mem::take(&mut self.registry().dialogs).cancel();
    }

    /// Waits until no request to an extension is open, for at most `timeout`.
    pub async fn wait_until_idle(&self, timeout: Duration) {
        let processes = self.processes();
        let ends = processes.iter().flat_map(|process| process.calls.all()).map(|call| async move {
            call.ended.cancelled().await;
        });
        let _ = tokio::time::timeout(timeout, join_all(ends)).await;
    }

    /// Does the same as [`Host::shut_down`] after the client has disconnected. Output of the extensions is then
    /// dropped, as in pi.
    pub async fn shut_down_disconnected(&self) {
        self.client_disconnected.store(true, Ordering::Release);
        self.shut_down().await;
    }

    /// Sends extensions the event about the end of the session, and ends all processes. Later calls have no effect.
    pub async fn shut_down(&self) {
        self.set_ready();
        let farewell = async {
            let members = self.subscribers(type_of::<SessionShutdownHook>());
            let good_bye = self.shutdown_event(SessionReason::Quit);
            join_all(members.iter().map(|member| self.request(member, good_bye.clone()))).await;
        };
        if self.is_closing() {
            return;
        }
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, farewell).await;
        self.closing.store(true, Ordering::Release);
        self.cancel_pending();
        self.end_dialogs();
        join_all(self.processes().iter().map(|process| process.stop())).await;
    }

    pub(super) fn processes(&self) -> Vec<Arc<Process>> {
        self.registry().processes.clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for process in self.processes() {
            process.fail("the agent has ended".to_owned());
        }
    }
}
