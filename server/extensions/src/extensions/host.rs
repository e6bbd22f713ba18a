//! The host: which extensions there are, and who asks them.

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

/// How long extensions may take to say good-bye, whatever the limit of a hook is.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the host is made of.
#[derive(Clone)]
pub struct Options {
    /// The extensions, in the order in which they are loaded.
    pub found: Vec<Found>,
    /// How patient it is.
    pub limits: Limits,
    /// How the Node host is started.
    pub node_host: NodeHost,
    /// The folder of the user's settings.
    pub agent_dir: Option<PathBuf>,
    /// Options of the command line that may be flags of extensions.
    pub flags: Vec<GivenFlag>,
    /// The working directory brings extensions that nobody trusts yet.
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

/// What surrounds the processes.
pub(super) struct Around {
    pub spawner: Arc<dyn Spawner>,
    pub cwd: PathBuf,
    /// Variables that extensions do not get.
    pub hidden: Vec<OsString>,
}

/// An extension that is there.
#[derive(Clone)]
pub(super) struct Member {
    /// The extension, as the agent names it.
    pub path: String,
    pub process: Arc<Process>,
    /// What it brings.
    pub offered: OfferedExtension,
    /// It took too long to answer; it is asked again once it has.
    pub silent: Arc<AtomicBool>,
}

impl Member {
    /// Whether it wants to hear of an event.
    pub fn hears(&self, event: &str) -> bool {
        self.offered.events.iter().flatten().any(|name| name == event) && !self.process.has_ended()
    }
}

#[derive(Default)]
pub(super) struct State {
    pub members: Vec<Member>,
    /// Who put the extensions there that were found, by their files.
    pub locations: HashMap<String, Location>,
    /// All processes that have not ended.
    pub processes: Vec<Arc<Process>>,
    /// The tools that the model can call, where an extension has said so.
    pub active: Option<Vec<String>>,
    /// Cancelled when all dialogs end.
    pub dialogs: CancellationToken,
}

/// Starts extensions, asks them, and carries out what they ask for. Without any it does nothing.
pub struct Host {
    pub(super) me: Weak<Host>,
    pub(super) options: Options,
    pub(super) around: Around,
    state: Mutex<State>,
    pub(super) ui: OnceLock<Arc<dyn Ui>>,
    link: OnceLock<WeakEngine>,
    /// Ends the agent.
    pub(super) stop: CancellationToken,
    ready: CancellationToken,
    closing: AtomicBool,
    /// The client is gone: nobody sees or answers anything.
    deserted: AtomicBool,
    pub(super) restarts: AtomicU32,
    /// Processes that are being started again.
    pub(super) restarting: OnTheirWay,
    /// Extensions that are being loaded.
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
    /// A host that has not started anything. `stop` is cancelled when an extension ends the agent.
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

    /// The engine that extensions act on. Only the first call counts.
    pub fn connect(&self, engine: WeakEngine) {
        let _ = self.link.set(engine);
    }

    /// Starts the extensions. Their questions and notices go to `ui`. Needs a runtime; only the first call
    /// counts.
    pub fn begin(&self, ui: Arc<dyn Ui>) {
        if self.ui.set(ui).is_err() {
            return;
        }
        match self.me.upgrade() {
            Some(host) if !self.options.found.is_empty() => {
                // From now on: nothing runs before it is known what they guard.
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

    /// Waits until the extensions are loaded and have heard that the agent is ready. Not for one that has
    /// opened a dialog, nor longer than the limits allow.
    pub async fn ready(&self) {
        self.ready.cancelled().await;
    }

    /// Whether the extensions are there.
    pub fn is_ready(&self) -> bool {
        self.ready.is_cancelled()
    }

    /// Tells the client that an extension failed.
    pub(super) fn fail(&self, extension: &str, event: &str, error: &str) {
        if self.is_closing() || self.is_deserted() {
            tracing::warn!("{extension}: {event}: {error}");
        } else if let Some(engine) = self.engine() {
            engine.extension_failed(extension, event, error);
        }
    }

    /// Returns true if a failure of a listener by which extensions talk to each other is reported to the
    /// client.
    pub(super) fn reports_listener_failures(&self) -> bool {
        self.engine().is_some_and(|engine| engine.customs().behavior.reports_listener_failures)
    }

    /// Those who want to hear of an event, in the order in which they were loaded.
    pub(super) fn subscribers(&self, event: &str) -> Vec<Member> {
        self.state().members.iter().filter(|member| member.hears(event)).cloned().collect()
    }

    /// Whether a question about an event comes before what is told in the same moment.
    pub(super) fn comes_first(&self, event: &str) -> bool {
        event == type_of::<ContextHook>()
            && self.engine().is_none_or(|engine| engine.customs().context_comes_first)
    }

    /// Whether another session is to extensions the end of one and the start of the next; they are told why then.
    pub(super) fn sessions_start_anew(&self) -> bool {
        self.engine().is_some_and(|engine| engine.customs().sessions_start_anew)
    }

    /// The end of a session.
    pub(super) fn good_bye(&self, reason: SessionReason) -> SessionShutdownHook {
        let mut event = SessionShutdownHook::new();
        event.reason = self.sessions_start_anew().then_some(reason);
        event
    }

    /// Whether anybody wants to hear of an event.
    pub(super) fn is_wanted(&self, event: &str) -> bool {
        self.state().members.iter().any(|member| member.hears(event))
    }

    /// Asks one about an event and waits. A failure is told to the client, once for each silence.
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
            // A tool's fate is its result, not an event.
            Err(Failed::Said(_)) if name == type_of::<ToolCallHook>() => {}
            Err(Failed::Said(error)) => self.fail(&member.path, &name, error),
            Err(Failed::TimedOut(limit)) => self.is_silent(member, &name, *limit).await,
            Ok(_) | Err(Failed::Gone) => {}
        }
        answer
    }

    /// Tells one of an event; nobody waits.
    pub(super) fn tell(&self, member: &Member, event: HookEvent) {
        if !member.silent.load(Ordering::Acquire) {
            member.process.tell(Item::Frame(Box::new(HostEvent::new(&member.path, event).into())));
        }
    }

    /// Tells one how something grows. One that is behind is not told each step.
    pub(super) fn tell_step(&self, member: &Member, what: Arc<str>, event: Arc<HookEvent>) {
        if !member.silent.load(Ordering::Acquire) {
            member.process.tell(Item::Step(Step { extension: member.path.clone(), what, event }));
        }
    }

    /// Waits until no extension has too much left to read. One that reads nothing is ended meanwhile.
    pub(super) async fn room(&self) {
        for process in self.processes() {
            process.outbox.room().await;
        }
    }

    /// Ends all dialogs as if nobody had answered.
    pub(super) fn end_dialogs(&self) {
        std::mem::take(&mut self.state().dialogs).cancel();
    }

    /// Waits until no command of an extension is going on, at most that long.
    pub async fn wait_until_idle(&self, patience: Duration) {
        let processes = self.processes();
        let over = processes.iter().flat_map(|process| process.calls.all()).map(|asked| async move {
            asked.over.cancelled().await;
        });
        let _ = tokio::time::timeout(patience, join_all(over)).await;
    }

    /// Says good-bye to nobody: the client has left, and what extensions still show goes nowhere, as in pi.
    pub async fn shut_down_alone(&self) {
        self.deserted.store(true, Ordering::Release);
        self.shut_down().await;
    }

    /// Says good-bye and ends all processes. Only the first call counts.
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
