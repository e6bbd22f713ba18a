//! The question about trust in the working directory, which the user receives when the answer is first
//! needed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::types::AskSelect;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, Granted};
use crate::extensions::{Found, Host};
use crate::mcp::{Definition, Servers};
use crate::ui::{self, Dialog, Ui};

/// The question for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question, on one line.
    pub title: String,
    /// True if the answer can be stored.
    pub can_remember: bool,
    /// The time limit for an answer. No answer means no.
    pub timeout: Duration,
}

/// The answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Yes, from now on.
    Always,
    /// Yes, until the end of this process.
    Once,
    /// No, or no answer.
    No,
}

/// The choices, in order.
const CHOICES: [(&str, Answer); 3] = [
    ("Do not trust it", Answer::No),
    ("Trust it for now", Answer::Once),
    ("Trust it from now on", Answer::Always),
];

impl Question {
    /// Sends the question to the user and waits within the time limit. Dropping the future withdraws the
    /// question.
    async fn ask(&self, ui: &dyn Ui) -> Answer {
        let choices = CHOICES.iter().filter(|(_, answer)| self.can_remember || *answer != Answer::Always);
        let options = choices.clone().map(|(text, _)| (*text).to_owned()).collect();
        let mut dialog = AskSelect::new("trust", self.title.as_str(), options);
        dialog.timeout = u64::try_from(self.timeout.as_millis()).ok();
        let refusing =
            choices.clone().enumerate().filter(|(_, (_, answer))| *answer == Answer::No).map(|(at, _)| at);
        let Some(answer) = ui.ask(&Dialog::Select(dialog, refusing.collect())) else { return Answer::No };
        let answer = tokio::time::timeout(self.timeout, answer).await;
        // A dismissed question, or an unknown choice, means no.
        let Ok(Some(ui::Answer::Value(chosen))) = answer else { return Answer::No };
        choices.clone().find(|(text, _)| *text == chosen).map_or(Answer::No, |(_, answer)| *answer)
    }
}

/// The configuration that trust enables.
#[derive(Debug)]
pub struct Allowed {
    /// The configuration of the engine.
    pub granted: Granted,
    /// The additional extensions.
    pub extensions: Vec<Found>,
    /// The MCP servers, which replace the previous servers.
    pub servers: Vec<Definition>,
}

/// A pending decision about a working directory whose files need trust.
#[derive(Clone)]
pub struct Undecided {
    question: Question,
    grant: Arc<Grant>,
}

type Grant = dyn Fn(bool) -> Result<Allowed, String> + Send + Sync;

impl Undecided {
    /// Adds MCP servers that are independent of the answer.
    pub fn with_servers(self, more: Vec<Definition>) -> Self {
        let Self { question, grant } = self;
        Self::new(question, move |always| {
            let mut allowed = grant(always)?;
            allowed.servers.retain(|server| more.iter().all(|given| given.name != server.name));
            allowed.servers.splice(0..0, more.iter().cloned());
            Ok(allowed)
        })
    }

    /// Creates a pending decision. After a yes, `grant` returns the enabled configuration; its argument is
    /// true if the answer should be stored. `grant` may block.
    pub fn new(
        question: Question,
        grant: impl Fn(bool) -> Result<Allowed, String> + Send + Sync + 'static,
    ) -> Self {
        Self { question, grant: Arc::new(grant) }
    }
}

impl fmt::Debug for Undecided {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Undecided").field("question", &self.question).finish_non_exhaustive()
    }
}

/// The parts of the agent that the answer affects.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub engine: &'a Engine,
    pub host: &'a Host,
    pub mcp: &'a Servers,
}

/// The kind of a waiting command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    Prompt,
    Bash,
}

/// The reason why a command does not continue.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum GateError {
    /// The command was aborted.
    #[error("it was aborted before it began")]
    Aborted,
    /// The user trusts the directory, but its files are unusable.
    #[error("what the directory brings cannot be used: {0}")]
    Unusable(String),
}

/// The gate at which commands wait for the decision about trust.
#[derive(Debug, Default)]
pub(super) struct Gate {
    undecided: Option<Undecided>,
    decided: OnceCell<()>,
    /// Cancelled when the waiting commands of that kind should stop.
    prompts: Mutex<CancellationToken>,
    commands: Mutex<CancellationToken>,
}

impl Gate {
    pub fn new(undecided: Option<Undecided>) -> Self {
        Self { undecided, ..Self::default() }
    }

    /// Waits for the decision about trust. Returns at once if the decision exists. All waiting commands share
    /// one question.
    pub async fn pass(&self, about: About<'_>, ui: &dyn Ui, who: Waiting) -> Result<(), GateError> {
        let Some(undecided) = self.undecided.as_ref().filter(|_| !self.decided.initialized()) else {
            return Ok(());
        };
        let stop = self.stop_of(who).lock().unwrap_or_else(PoisonError::into_inner).clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(GateError::Aborted),
            decided = self.decided.get_or_try_init(|| decide(undecided, about, ui)) => decided.copied(),
        }
    }

    /// Waits until the commands of that kind are stopped.
    pub async fn stopped(&self, who: Waiting) {
        let stop = self.stop_of(who).lock().unwrap_or_else(PoisonError::into_inner).clone();
        stop.cancelled().await;
    }

    /// Stops the waiting commands of that kind.
    pub fn stop(&self, who: Waiting) {
        let mut stop = self.stop_of(who).lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *stop).cancel();
    }

    fn stop_of(&self, who: Waiting) -> &Mutex<CancellationToken> {
        match who {
            Waiting::Prompt => &self.prompts,
            Waiting::Bash => &self.commands,
        }
    }
}

async fn decide(undecided: &Undecided, about: About<'_>, ui: &dyn Ui) -> Result<(), GateError> {
    let always = match undecided.question.ask(ui).await {
        Answer::Always => true,
        Answer::Once => false,
        Answer::No => return Ok(()),
    };
    let grant = undecided.grant.clone();
    let allowed = tokio::task::spawn_blocking(move || grant(always)).await;
    let allowed = allowed.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    let Allowed { granted, extensions, servers } = allowed.map_err(GateError::Unusable)?;
    about.engine.grant(granted);
    about.mcp.replace(servers);
    about.host.load(&extensions).await;
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

    struct Deaf;

    impl EventSink for Deaf {
        fn room(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn push(&self, _: Event<'_>) {}
    }

    /// Returns the same answer to every question; `None` if no client is connected.
    struct Says(Option<Answer>, AtomicUsize);

    impl Ui for Says {
        fn room(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn show(&self, _: &ui::Notice) {}
        fn ask(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let said = self.0?;
            let text = CHOICES.iter().find(|(_, answer)| *answer == said).map(|(text, _)| (*text).to_owned());
            Some(async move { text.map(ui::Answer::Value) }.boxed())
        }
    }

    /// Never answers.
    struct Mute(AtomicUsize);

    impl Ui for Mute {
        fn room(&self) -> BoxFuture<'_, ()> {
            async {}.boxed()
        }
        fn show(&self, _: &ui::Notice) {}
        fn ask(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<ui::Answer>>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Some(std::future::pending().boxed())
        }
    }

    fn engine() -> Engine {
        Engine::new(Server::builder().cwd("/").parts().0, Arc::new(Deaf))
    }

    fn host() -> Arc<Host> {
        let spawner = Arc::new(LocalSpawner::new(None));
        Host::new(extensions::Options::default(), spawner, "/", Vec::new(), CancellationToken::new())
    }

    fn servers() -> Arc<Servers> {
        Servers::new(Default::default(), Arc::new(LocalSpawner::new(None)), &ToolSet::none())
    }

    fn gate(granted: Result<(), &'static str>) -> (Gate, Arc<Mutex<Vec<bool>>>) {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = calls.clone();
        let question =
            Question { title: "?".to_owned(), can_remember: true, timeout: Duration::from_secs(1) };
        let undecided = Undecided::new(question, move |always| {
            seen.lock().unwrap().push(always);
            granted.map_err(str::to_owned).map(|()| Allowed {
                granted: Granted {
                    settings: Default::default(),
                    shell: Default::default(),
                    system_prompt: Default::default(),
                    resources: Default::default(),
                },
                extensions: Vec::new(),
                servers: Vec::new(),
            })
        });
        (Gate::new(Some(undecided)), calls)
    }

    #[tokio::test]
    async fn one_answer_serves_all() {
        for (answer, expected) in
            [(Answer::Always, vec![true]), (Answer::Once, vec![false]), (Answer::No, vec![])]
        {
            let ((gate, calls), engine) = (gate(Ok(())), engine());
            let asker = Says(Some(answer), AtomicUsize::new(0));
            let (host, mcp) = (host(), servers());
            let about = About { engine: &engine, host: &host, mcp: &mcp };
            let pass = || gate.pass(about, &asker, Waiting::Prompt);
            let passed = tokio::join!(pass(), pass(), pass());
            assert_eq!(passed, (Ok(()), Ok(()), Ok(())));
            assert_eq!(pass().now_or_never(), Some(Ok(())));
            assert_eq!((asker.1.load(Ordering::Relaxed), &*calls.lock().unwrap()), (1, &expected));
        }
    }

    #[tokio::test]
    async fn nobody_is_asked_where_nothing_is_undecided() {
        let asker = Says(None, AtomicUsize::new(0));
        let (engine, host, mcp) = (engine(), host(), servers());
        let about = About { engine: &engine, host: &host, mcp: &mcp };
        let passed = Gate::new(None).pass(about, &asker, Waiting::Bash).now_or_never();
        assert_eq!((passed, asker.1.load(Ordering::Relaxed)), (Some(Ok(())), 0));
    }

    #[tokio::test]
    async fn an_abort_withdraws_the_question_and_the_next_one_is_asked_again() {
        let ((gate, _), engine) = (gate(Ok(())), engine());
        let (mute, host, mcp) = (Mute(AtomicUsize::new(0)), host(), servers());
        let about = About { engine: &engine, host: &host, mcp: &mcp };
        let stop = async {
            gate.stop(Waiting::Bash);
            tokio::task::yield_now().await;
            gate.stop(Waiting::Prompt);
        };
        let (passed, ()) = tokio::join!(gate.pass(about, &mute, Waiting::Prompt), stop);
        assert_eq!((passed, mute.0.load(Ordering::Relaxed)), (Err(GateError::Aborted), 1));
        let asker = Says(Some(Answer::No), AtomicUsize::new(0));
        assert_eq!(gate.pass(about, &asker, Waiting::Prompt).await, Ok(()));
        assert_eq!(asker.1.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn where_nobody_can_answer_the_directory_is_not_trusted() {
        let ((gate, calls), engine) = (gate(Ok(())), engine());
        let (nobody, host, mcp) = (Says(None, AtomicUsize::new(0)), host(), servers());
        let about = About { engine: &engine, host: &host, mcp: &mcp };
        assert_eq!(gate.pass(about, &nobody, Waiting::Prompt).await, Ok(()));
        assert!(calls.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_told() {
        let ((gate, _), engine) = (gate(Err("broken")), engine());
        let asker = Says(Some(Answer::Once), AtomicUsize::new(0));
        let (host, mcp) = (host(), servers());
        let about = About { engine: &engine, host: &host, mcp: &mcp };
        let passed = gate.pass(about, &asker, Waiting::Bash).await;
        assert_eq!(passed, Err(GateError::Unusable("broken".to_owned())));
    }
}
