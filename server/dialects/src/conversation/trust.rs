//! The question to the user about trust in the working directory. It is sent when the answer is first needed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::types::SelectQuestion;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, TrustedConfig};
use crate::extensions::{DiscoveredExtension, Host};
use crate::mcp::{ServerDefinition, Servers};
use crate::ui::{self, Dialog, Ui};

/// The question for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustQuestion {
    /// The question, on one line.
    pub title: String,
    /// True if the answer can be stored.
    pub can_remember: bool,
    /// The time limit for an answer. After it, the answer is no.
    pub timeout: Duration,
}

/// The answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrustAnswer {
    /// The user trusts the directory from now on.
    Always,
    /// The user trusts the directory until the end of this process.
    Once,
    /// The user does not trust the directory, or did not answer.
    No,
}

/// The choices, in order.
const CHOICES: [(&str, TrustAnswer); 3] = [
    ("Do not trust it", TrustAnswer::No),
    ("Trust it for now", TrustAnswer::Once),
    ("Trust it from now on", TrustAnswer::Always),
];

impl TrustQuestion {
    /// Sends the question and waits for the answer, up to the time limit. Dropping the future withdraws the
    /// question.
    async fn prompt_user(&self, ui: &dyn Ui) -> TrustAnswer {
        let choices =
            CHOICES.iter().filter(|(_, answer)| self.can_remember || *answer != TrustAnswer::Always);
        let options = choices.clone().map(|(text, _)| (*text).to_owned()).collect();
        let mut dialog = SelectQuestion::new("trust", self.title.as_str(), options);
        dialog.timeout = u64::try_from(self.timeout.as_millis()).ok();
        let refusing = choices
            .clone()
            .enumerate()
            .filter(|(_, (_, answer))| *answer == TrustAnswer::No)
            .map(|(at, _)| at);
        let Some(answer) = ui.show_dialog(&Dialog::Select(dialog, refusing.collect())) else {
            return TrustAnswer::No;
        };
        let answer = tokio::time::timeout(self.timeout, answer).await;
        // A dismissed question, or an unknown choice, means no.
        let Ok(Some(ui::Answer::Value(chosen))) = answer else { return TrustAnswer::No };
        choices.clone().find(|(text, _)| *text == chosen).map_or(TrustAnswer::No, |(_, answer)| *answer)
    }
}

/// The configuration that applies once the directory is trusted.
#[derive(Debug)]
pub struct TrustedComponents {
    /// The configuration of the engine.
    pub config: TrustedConfig,
    /// The additional extensions.
    pub extensions: Vec<DiscoveredExtension>,
    /// The MCP servers, which replace the previous servers.
    pub servers: Vec<ServerDefinition>,
}

/// The pending decision about a working directory whose configuration files need trust.
#[derive(Clone)]
pub struct PendingTrust {
    question: TrustQuestion,
    loader: Arc<TrustedLoader>,
}

type TrustedLoader = dyn Fn(bool) -> Result<TrustedComponents, String> + Send + Sync;

impl PendingTrust {
    /// Adds MCP servers that start whether or not the user trusts the directory.
    pub fn with_servers(self, more: Vec<ServerDefinition>) -> Self {
        let Self { question, loader } = self;
        Self::new(question, move |always| {
            let mut trusted = loader(always)?;
            trusted.servers.retain(|server| more.iter().all(|given| given.name != server.name));
            trusted.servers.splice(0..0, more.iter().cloned());
            Ok(trusted)
        })
    }

    /// Creates a pending decision. If the user trusts the directory, `loader` returns the configuration to
    /// apply. Its argument is true if the user chose to store the answer. `loader` may block.
    pub fn new(
        question: TrustQuestion,
        loader: impl Fn(bool) -> Result<TrustedComponents, String> + Send + Sync + 'static,
    ) -> Self {
        Self { question, loader: Arc::new(loader) }
    }
}

impl fmt::Debug for PendingTrust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PendingTrust").field("question", &self.question).finish_non_exhaustive()
    }
}

/// The parts of the agent that change if the user trusts the directory.
#[derive(Clone, Copy)]
pub(super) struct TrustTargets<'a> {
    pub engine: &'a Engine,
    pub host: &'a Host,
    pub mcp: &'a Servers,
}

/// The kind of command that waits for the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustWaiter {
    Prompt,
    Bash,
}

/// The reason why a command that waited for the decision does not run.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum TrustError {
    /// The command was aborted.
    #[error("it was aborted before it started")]
    Aborted,
    /// The user trusts the directory, but its files are unusable.
    #[error("the files of the trusted directory cannot be used: {0}")]
    Unusable(String),
}

/// Gate at which commands wait for the decision about trust.
#[derive(Debug, Default)]
pub(super) struct TrustGate {
    pending: Option<PendingTrust>,
    decided: OnceCell<()>,
    /// Tokens for the waiting prompts and the waiting shell commands. Cancelling one stops all commands that wait
    /// with it.
    prompts: Mutex<CancellationToken>,
    commands: Mutex<CancellationToken>,
}

impl TrustGate {
    pub fn new(pending: Option<PendingTrust>) -> Self {
        Self { pending, ..Self::default() }
    }

    /// Waits for the decision about trust. All waiting commands share one question. Returns at once if the decision
    /// exists. Fails if the command is stopped meanwhile, or if the files of the trusted directory are unusable.
    pub async fn wait_for_trust(
        &self,
        targets: TrustTargets<'_>,
        ui: &dyn Ui,
        waiter: TrustWaiter,
    ) -> Result<(), TrustError> {
        let Some(pending) = self.pending.as_ref().filter(|_| !self.decided.initialized()) else {
            return Ok(());
        };
        let stop = self.stop_token(waiter).lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(TrustError::Aborted),
            decided = self.decided.get_or_try_init(|| decide(pending, targets, ui)) => decided.copied(),
        }
    }

    /// Waits until commands of the given kind are stopped.
    pub async fn wait_until_stopped(&self, waiter: TrustWaiter) {
        let stop = self.stop_token(waiter).lock().unwrap_or_else(PoisonError::into_inner).clone();
        stop.cancelled().await;
    }

    /// Stops the waiting commands of the given kind.
    pub fn stop(&self, waiter: TrustWaiter) {
        let mut stop = self.stop_token(waiter).lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *stop).cancel();
    }

    fn stop_token(&self, waiter: TrustWaiter) -> &Mutex<CancellationToken> {
        match waiter {
            TrustWaiter::Prompt => &self.prompts,
            TrustWaiter::Bash => &self.commands,
        }
    }
}

async fn decide(pending: &PendingTrust, targets: TrustTargets<'_>, ui: &dyn Ui) -> Result<(), TrustError> {
    let always = match pending.question.prompt_user(ui).await {
        TrustAnswer::Always => true,
        TrustAnswer::Once => false,
        TrustAnswer::No => return Ok(()),
    };
    let loader = pending.loader.clone();
    let trusted = tokio::task::spawn_blocking(move || loader(always)).await;
    let trusted = trusted.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    let TrustedComponents { config, extensions, servers } = trusted.map_err(TrustError::Unusable)?;
    targets.engine.apply_trust(config);
    targets.mcp.replace(servers);
    targets.host.load(&extensions).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;
    use crate::Server;
    use crate::engine::{Event, EventSink};
    use crate::extensions;
    use crate::tools::{LocalSpawner, ToolSet};

    struct NullSink;

    impl EventSink for NullSink {
        fn wait_for_capacity(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn push(&self, _: Event<'_>) {}
    }

    /// A user interface that gives the same answer to every question. It is `None` if no client is connected.
    struct AnsweringUi(Option<TrustAnswer>, AtomicUsize);

    impl Ui for AnsweringUi {
        fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn show(&self, _: &ui::Notice) {}
        fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let expected = self.0?;
            let text =
                CHOICES.iter().find(|(_, answer)| *answer == expected).map(|(text, _)| (*text).to_owned());
            Some(async move { text.map(ui::Answer::Value) }.boxed())
        }
    }

    /// A user interface that never answers.
    struct SilentUi(AtomicUsize);

    impl Ui for SilentUi {
        fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn show(&self, _: &ui::Notice) {}
        fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Some(std::future::pending().boxed())
        }
    }

    fn engine() -> Engine {
        Engine::new(Server::builder().cwd("/").build_engine_options().0, Arc::new(NullSink))
    }

    fn host() -> Arc<Host> {
        let spawner = Arc::new(LocalSpawner::new(None));
        Host::new(extensions::HostOptions::default(), spawner, "/", Vec::new(), CancellationToken::new())
    }

    fn servers() -> Arc<Servers> {
        Servers::new(Default::default(), Arc::new(LocalSpawner::new(None)), &ToolSet::none())
    }

    fn gate(result: Result<(), &'static str>) -> (TrustGate, Arc<Mutex<Vec<bool>>>) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let remembered = calls.clone();
        let question =
            TrustQuestion { title: "?".to_owned(), can_remember: true, timeout: Duration::from_secs(1) };
        let pending = PendingTrust::new(question, move |always| {
            remembered.lock().unwrap().push(always);
            result.map_err(str::to_owned).map(|()| TrustedComponents {
                config: TrustedConfig {
                    settings: Default::default(),
                    shell: Default::default(),
                    system_prompt: Default::default(),
                    resources: Default::default(),
                },
                extensions: Vec::new(),
                servers: Vec::new(),
            })
        });
        (TrustGate::new(Some(pending)), calls)
    }

    #[tokio::test]
    async fn one_answer_serves_all_waiting_commands() {
        for (answer, expected) in
            [(TrustAnswer::Always, vec![true]), (TrustAnswer::Once, vec![false]), (TrustAnswer::No, vec![])]
        {
            let ((gate, calls), engine) = (gate(Ok(())), engine());
            let ui = AnsweringUi(Some(answer), AtomicUsize::new(0));
            let (host, mcp) = (host(), servers());
            let targets = TrustTargets { engine: &engine, host: &host, mcp: &mcp };
            let wait = || gate.wait_for_trust(targets, &ui, TrustWaiter::Prompt);
            let result = tokio::join!(wait(), wait(), wait());
            assert_eq!(result, (Ok(()), Ok(()), Ok(())));
            assert_eq!(wait().now_or_never(), Some(Ok(())));
            assert_eq!((ui.1.load(Ordering::Relaxed), &*calls.lock().unwrap()), (1, &expected));
        }
    }

    #[tokio::test]
    async fn no_question_is_sent_without_a_pending_decision() {
        let ui = AnsweringUi(None, AtomicUsize::new(0));
        let (engine, host, mcp) = (engine(), host(), servers());
        let targets = TrustTargets { engine: &engine, host: &host, mcp: &mcp };
        let result = TrustGate::new(None).wait_for_trust(targets, &ui, TrustWaiter::Bash).now_or_never();
        assert_eq!((result, ui.1.load(Ordering::Relaxed)), (Some(Ok(())), 0));
    }

    #[tokio::test]
    async fn abort_withdraws_the_question_and_the_next_command_repeats_it() {
        let ((gate, _), engine) = (gate(Ok(())), engine());
        let (silent_ui, host, mcp) = (SilentUi(AtomicUsize::new(0)), host(), servers());
        let targets = TrustTargets { engine: &engine, host: &host, mcp: &mcp };
        let stop = async {
            gate.stop(TrustWaiter::Bash);
            tokio::task::yield_now().await;
            gate.stop(TrustWaiter::Prompt);
        };
        let (result, ()) = tokio::join!(gate.wait_for_trust(targets, &silent_ui, TrustWaiter::Prompt), stop);
        assert_eq!((result, silent_ui.0.load(Ordering::Relaxed)), (Err(TrustError::Aborted), 1));
        let ui = AnsweringUi(Some(TrustAnswer::No), AtomicUsize::new(0));
        assert_eq!(gate.wait_for_trust(targets, &ui, TrustWaiter::Prompt).await, Ok(()));
        assert_eq!(ui.1.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn directory_is_not_trusted_without_a_client() {
        let ((gate, calls), engine) = (gate(Ok(())), engine());
        let (ui, host, mcp) = (AnsweringUi(None, AtomicUsize::new(0)), host(), servers());
        let targets = TrustTargets { engine: &engine, host: &host, mcp: &mcp };
        assert_eq!(gate.wait_for_trust(targets, &ui, TrustWaiter::Prompt).await, Ok(()));
        assert!(calls.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn unusable_directory_is_an_error() {
        let ((gate, _), engine) = (gate(Err("broken")), engine());
        let ui = AnsweringUi(Some(TrustAnswer::Once), AtomicUsize::new(0));
        let (host, mcp) = (host(), servers());
        let targets = TrustTargets { engine: &engine, host: &host, mcp: &mcp };
        let result = gate.wait_for_trust(targets, &ui, TrustWaiter::Bash).await;
        assert_eq!(result, Err(TrustError::Unusable("broken".to_owned())));
    }
}
