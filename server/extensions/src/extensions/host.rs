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

use super::calls::{Asked, Failed};
use super::guards::Guards;
use super::outbox::{Item, Step};
use super::pending::Before;
use super::process::Process;
use super::underway::OnTheirWay;
use super::watchers::Watch;
use super::wire::type_of;
use super::{Found, GivenFlag, Limits, NodeHost};
use crate::engine::{Engine, WeakEngine};
use crate::resources::Location;
use crate::tools::Spawner;
use crate::ui::Ui;

/// Maximum waiting time for extensions at the shutdown, independent of the time limit of a hook.
const FAREWELL: Duration = Duration::from_secs(2);

/// Options of the host.
#[derive(Clone)]
pub struct Options {
    /// The extensions, in the order in which they are loaded.
    pub found: Vec<Found>,
    /// Limits of time and number.
    pub limits: Limits,
    /// The start of the Node host.
    pub node_host: NodeHost,
    /// The folder of the user's settings.
    pub agent_dir: Option<PathBuf>,
    /// Options of the command line that may be flags of extensions.
    pub flags: Vec<GivenFlag>,
    /// True if the working directory has extensions that still need trust.
    pub more_may_come: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            limits: Limits::default(),
            node_host: NodeHost::Missing,
            agent_dir: None,
            flags: Vec::new(),
            more_may_come: false,
        }
    }
}

/// Shared context of the processes.
pub(super) struct Around {
    pub spawner: Arc<dyn Spawner>,
    pub cwd: PathBuf,
    /// Environment variables that are removed for extensions.
    pub hidden: Vec<OsString>,
}

/// A loaded extension.
#[derive(Clone)]
pub(super) struct Member {
    /// The extension, as the agent names it.
    pub path: String,
    pub process: Arc<Process>,
    /// Registered contents of the extension.
    pub offered: OfferedExtension,
    /// True after the extension exceeded a time limit; it receives no requests until it has answered.
    pub silent: Arc<AtomicBool>,
}

impl Member {
    /// Returns true if the extension subscribes to an event and its process is running.
    pub fn hears(&self, event: &str) -> bool {
        self.offered.events.iter().flatten().any(|name| name == event) && !self.process.has_ended()
    }
}

#[derive(Default)]
pub(super) struct State {
    pub members: Vec<Member>,
    /// Origins of the extensions that were found, by the paths of their files.
    pub locations: HashMap<String, Location>,
    /// All processes that have not ended.
    pub processes: Vec<Arc<Process>>,
    /// The tools that the model can call; `None` if no extension has chosen them.
    pub active: Option<Vec<String>>,
    /// Cancelled when all dialogs end.
    pub dialogs: CancellationToken,
}

/// Starts extensions, sends them requests, and carries out their actions. Without extensions the host does
/// nothing.
pub struct Host {
    pub(super) me: Weak<Host>,
    pub(super) options: Options,
    pub(super) around: Around,
    state: Mutex<State>,
    pub(super) ui: OnceLock<Arc<dyn Ui>>,
    link: OnceLock<WeakEngine>,
    /// Cancelled to end the agent.
    pub(super) stop: CancellationToken,
    ready: CancellationToken,
    closing: AtomicBool,
    /// True after the client has disconnected: no dialog is displayed or answered.
    deserted: AtomicBool,
    pub(super) restarts: AtomicU32,
    /// Pending restarts of processes.
    pub(super) restarting: OnTheirWay,
    /// Pending loads of extensions.
    pub(super) arriving: OnTheirWay,
    pub(super) guards: Guards,
    pub(super) watch: Watch,
    pub(super) before: Before,
    /// Held while extensions are loaded, so that one process serves all that it can serve.
    pub(super) loading: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths: Vec<_> = self.state().members.iter().map(|member| member.path.clone()).collect();
        formatter.debug_struct("Host").field("extensions", &paths).finish_non_exhaustive()
    }
}

impl Host {
    /// Creates a host that has not started anything. An extension that ends the agent cancels `stop`.
    pub fn new(
        options: Options,
        spawner: Arc<dyn Spawner>,
        cwd: impl Into<PathBuf>,
        hidden: Vec<OsString>,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let around = Around { spawner, cwd: cwd.into(), hidden };
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            options,
            around,
            state: Mutex::default(),
            ui: OnceLock::new(),
            link: OnceLock::new(),
            stop,
            ready: CancellationToken::new(),
            closing: AtomicBool::new(false),
            deserted: AtomicBool::new(false),
            restarts: AtomicU32::new(0),
            restarting: OnTheirWay::default(),
            arriving: OnTheirWay::default(),
            guards: Guards::default(),
            watch: Watch::default(),
            before: Before::default(),
            loading: tokio::sync::Mutex::default(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn engine(&self) -> Option<Engine> {
        self.link.get().and_then(WeakEngine::engine)
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }

    pub(super) fn is_deserted(&self) -> bool {
        self.deserted.load(Ordering::Acquire)
    }

    /// Sets the engine on which extensions act. Later calls have no effect.
    pub fn connect(&self, engine: WeakEngine) {
        let _ = self.link.set(engine);
    }

    /// Starts the extensions. Their dialogs and notices go to `ui`. Needs a runtime. Later calls have no
    /// effect.
    pub fn begin(&self, ui: Arc<dyn Ui>) {
        if self.ui.set(ui).is_err() {
            return;
        }
        match self.me.upgrade() {
            Some(host) if !self.options.found.is_empty() => {
                // No tool runs before the guards are known.
                self.expect(&self.options.found);
                let arriving = self.arriving.begin();
                tokio::spawn(async move {
                    host.load_expected(&host.options.found, arriving).await;
                    host.complain_of_flags();
                    host.get_ready();
                });
            }
            _ => self.get_ready(),
        }
    }

    pub(super) fn get_ready(&self) {
        self.ready.cancel();
    }

    /// Waits until the extensions are loaded and have received the event about the start. Does not wait for
    /// an extension with an open dialog, nor longer than the limits allow.
    pub async fn ready(&self) {
        self.ready.cancelled().await;
    }

    /// Returns true if the extensions are loaded.
    pub fn is_ready(&self) -> bool {
        self.ready.is_cancelled()
    }

    /// Reports a failure of an extension to the client. After the client has disconnected, and during the
    /// shutdown, the failure is only logged.
    pub(super) fn fail(&self, extension: &str, event: &str, error: &str) {
        if self.is_closing() || self.is_deserted() {
            tracing::warn!("{extension}: {event}: {error}");
        } else if let Some(engine) = self.engine() {
            engine.extension_failed(extension, event, error);
        }
    }

    /// Returns true if the client receives reports about failed listeners of events between extensions.
    pub(super) fn reports_listener_failures(&self) -> bool {
        self.engine().is_some_and(|engine| engine.customs().behavior.reports_listener_failures)
    }

    /// Returns the subscribers to an event, in the order in which they were loaded.
    pub(super) fn subscribers(&self, event: &str) -> Vec<Member> {
        self.state().members.iter().filter(|member| member.hears(event)).cloned().collect()
    }

    /// Returns true if a request about an event overtakes notifications of the same moment.
    pub(super) fn comes_first(&self, event: &str) -> bool {
        event == type_of::<ContextHook>()
            && self.engine().is_none_or(|engine| engine.customs().context_comes_first)
    }

    /// Returns true if a change of the session is the end of one session and the start of another for
    /// extensions. They then also receive the reason.
    pub(super) fn sessions_start_anew(&self) -> bool {
        self.engine().is_some_and(|engine| engine.customs().sessions_start_anew)
    }

    /// Creates the event about the end of a session.
    pub(super) fn good_bye(&self, reason: SessionReason) -> SessionShutdownHook {
        let mut event = SessionShutdownHook::new();
        event.reason = self.sessions_start_anew().then_some(reason);
        event
    }

    /// Returns true if an extension subscribes to an event.
    pub(super) fn is_wanted(&self, event: &str) -> bool {
        self.state().members.iter().any(|member| member.hears(event))
    }

    /// Sends an event to an extension and waits for the answer. A failure is reported to the client; a
    /// repeated silence is reported once.
    pub(super) async fn ask(&self, member: &Member, event: impl Into<HookEvent>) -> Result<Value, Failed> {
        let event = event.into();
        let name = event.tag().to_owned();
        if member.silent.load(Ordering::Acquire) {
            return Err(Failed::Gone);
        }
        self.refresh(&member.process);
        let path = member.path.clone();
        let frame = |id: String| {
            let mut frame = HostEvent::new(path, event);
            frame.id = Some(id);
            HostFrame::from(frame)
        };
        let asked =
            Asked::new(&member.path).overtaking(self.comes_first(&name)).before(Before::is_one(&name));
        let answer = member.process.ask(asked, frame, Some(self.options.limits.hook)).await;
        match &answer {
            // The outcome of a tool call is its result, not a failure of the extension.
            Err(Failed::Said(_)) if name == type_of::<ToolCallHook>() => {}
            Err(Failed::Said(error)) => self.fail(&member.path, &name, error),
            Err(Failed::TimedOut(limit)) => self.is_silent(member, &name, *limit).await,
            Ok(_) | Err(Failed::Gone) => {}
        }
        answer
    }

    /// Sends an event to an extension without waiting for an answer.
    pub(super) fn tell(&self, member: &Member, event: HookEvent) {
        if !member.silent.load(Ordering::Acquire) {
            member.process.tell(Item::Frame(Box::new(HostEvent::new(&member.path, event).into())));
        }
    }

    /// Sends an extension one step of a growing value. A slow extension does not receive every step.
    pub(super) fn tell_step(&self, member: &Member, what: Arc<str>, event: Arc<HookEvent>) {
        if !member.silent.load(Ordering::Acquire) {
            member.process.tell(Item::Step(Step { extension: member.path.clone(), what, event }));
        }
    }

    /// Waits until no extension has too much unread output. An extension that reads nothing is ended
    /// meanwhile.
    pub(super) async fn room(&self) {
        for process in self.processes() {
            process.outbox.room().await;
        }
    }

    /// Ends all dialogs without an answer.
    pub(super) fn end_dialogs(&self) {
        std::mem::take(&mut self.state().dialogs).cancel();
    }

    /// Waits until no command of an extension is running, at most for `patience`.
    pub async fn wait_until_idle(&self, patience: Duration) {
        let processes = self.processes();
        let over = processes.iter().flat_map(|process| process.calls.all()).map(|asked| async move {
            asked.over.cancelled().await;
        });
        let _ = tokio::time::timeout(patience, join_all(over)).await;
    }

    /// Works like [`Host::shut_down`], for a disconnected client: output of the extensions is dropped, as in
    /// pi.
    pub async fn shut_down_alone(&self) {
        self.deserted.store(true, Ordering::Release);
        self.shut_down().await;
    }

    /// Sends the event about the end of the session and ends all processes. Later calls have no effect.
    pub async fn shut_down(&self) {
        self.get_ready();
        let farewell = async {
            let members = self.subscribers(type_of::<SessionShutdownHook>());
            let good_bye = self.good_bye(SessionReason::Quit);
            join_all(members.iter().map(|member| self.ask(member, good_bye.clone()))).await;
        };
        if self.is_closing() {
            return;
        }
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
        self.closing.store(true, Ordering::Release);
        self.give_up();
        self.end_dialogs();
        join_all(self.processes().iter().map(|process| process.stop())).await;
    }

    pub(super) fn processes(&self) -> Vec<Arc<Process>> {
        self.state().processes.clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for process in self.processes() {
            process.fault("the agent has ended".to_owned());
        }
    }
}
