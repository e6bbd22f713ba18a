//! The agent behind the bridge, as the server's engine leads with it: words and commands go to it, its deeds come back.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::any::{Agent, Intent, takes};
use agentese::types::{AgentMessage, CompactionResult, ImageContent, InterruptMode};
use agentese::view::{Message, Role};
use agentese_server::engine::{Compacted, Deed, Lead, Manner, Opened, Unwilling, Used};
use agentese_server::resources::CommandInfo;
use agentese_server::tools::RpcBashOutput;
use agentese_server::ui::Ui;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::convert::{self, history};
use super::deeds::Deeds;
use super::here;
use super::kept::Places;
use super::late::Late;
use super::moves::{Move, News, Stage};
use super::person::Person;
use super::place::{self, Stands};
use super::pump::{Held, Joining, Pump, Word, arrived, is_refusal, kept, reason, settled};
use super::queue;

#[cfg(test)]
mod tests;
mod words;

type Job = BoxFuture<'static, ()>;

/// The agent behind the bridge.
pub(super) struct Remote {
    pub(super) agent: Agent,
    person: Person,
    deeds: tokio::sync::Mutex<queue::Receiver>,
    /// Settings on their way to the agent, one after the other.
    jobs: UnboundedSender<Job>,
    /// How many they are.
    unset: Arc<AtomicUsize>,
    words: UnboundedSender<Word>,
    /// Prompts whose work is not over.
    open: Arc<AtomicUsize>,
    /// Words that the agent has no queue for.
    held: Held,
    /// Somebody stopped the run: what waits stays until the next prompt.
    stopped: Arc<AtomicBool>,
    /// Another conversation takes the place of this one.
    moves: Move,
    /// What was left of it when the agent went back and did not tell that.
    stands: Stands,
    /// Cancelled when the engine has told that the agent is gone.
    parted: CancellationToken,
    /// Why it is gone.
    gone: Arc<Mutex<Option<String>>>,
}

impl Remote {
    /// Listens to the agent from now on. Must be called on a tokio runtime.
    pub fn new(agent: Agent, person: Person) -> Self {
        let (told, deeds) = queue::queue();
        let (jobs, mut waiting) = unbounded_channel::<Job>();
        let (words, said) = unbounded_channel();
        let gone = Arc::<Mutex<Option<String>>>::default();
        let (open, unset) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (moves, held) = (Move::default(), Held::default());
        let stopped = Arc::<AtomicBool>::default();
        let mut deeds_of = Deeds::default();
        let now = agent.conversation();
        deeds_of.pass_over(&now);
        let is_refusal = |source: &String| is_refusal(&agent, source);
        let unseen = now.notices.iter().filter(|notice| !notice.source.as_ref().is_some_and(is_refusal));
        unseen.for_each(|notice| person.notice(notice));
        let pump = Pump {
            events: agent.events(),
            agent: agent.clone(),
            person: person.clone(),
            deeds: deeds_of,
            late: Late::default(),
            asks: false,
            told,
            unanswered: false,
            owes_rest: false,
            joining: Joining::None,
            said: None,
            unset: unset.clone(),
            named: None,
            thinks: None,
            open: open.clone(),
            held: held.clone(),
            words: words.clone(),
            stopped: stopped.clone(),
            news: News::of(moves.clone()),
            gone: gone.clone(),
        };
        person.behind(words.clone());
        tokio::spawn(pump.run(said));
        tokio::spawn(async move {
            while let Some(job) = waiting.recv().await {
                job.await;
            }
        });
        let deeds = tokio::sync::Mutex::new(deeds);
        let (parted, stands) = (CancellationToken::new(), Stands::default());
        Self { agent, person, deeds, jobs, unset, words, open, held, stopped, moves, stands, parted, gone }
    }

    /// Cancelled when the agent is gone and everything of that was told.
    pub fn parted(&self) -> CancellationToken {
        self.parted.clone()
    }

    /// Why the agent is gone; none while it is there.
    pub fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the agent move to another conversation; what it tells of that one is not news.
    async fn moves(&self, asked: impl Future<Output = Result<bool, Unwilling>>) -> Result<bool, Unwilling> {
        self.behind_settings().await;
        self.moves.enter(Stage::Asked);
        let done = asked.await;
        match done {
            // What the agent told before comes first.
            Ok(true) => drop(self.words.send(Word::Moved)),
            _ => arrived(&self.words).await,
        }
        done
    }

    /// The entry from which the conversation is to go on so that it ends before that message of the user; none for its
    /// beginning. Refused where the agent does not have it.
    async fn place(&self, number: usize, text: &str) -> Result<Option<String>, Unwilling> {
        if self.agent.can(Intent::ForkPoints) {
            let points = self.agent.fork_points().await.map_err(|error| reason(&error))?;
            return place::point(&points, number, text).map(Some);
        }
        if self.agent.can(Intent::Messages) {
            self.agent.messages().await.map_err(|error| reason(&error))?;
        }
        place::before(&self.stands.with(&self.agent.conversation()), number, text)
    }
}

/// Why the agent runs no command whose output its model does not see.
fn cannot_hide(agent: &Agent) -> Unwilling {
    let spec = agent.spec();
    let cannot = "the agent is not known to run commands of the user without its model seeing the output";
    match spec.revisions.iter().find(|revision| takes(revision, Intent::Bash, "hidden")) {
        Some(revision) => {
            format!("{cannot}; one of a revision that does is told by `--from {}`", revision.id())
        }
        None => cannot.to_owned(),
    }
}

impl Lead for Remote {
    fn next(&self) -> BoxFuture<'_, Deed> {
        async move { self.deeds.lock().await.next().await }.boxed()
    }

    fn connect(&self, ui: Arc<dyn Ui>) {
        self.person.connect(ui);
        self.person.panels(&self.agent.conversation());
    }

    fn parted(&self) {
        self.parted.cancel();
    }

    fn say<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        manner: Manner,
    ) -> BoxFuture<'a, Result<(), Unwilling>> {
        self.hand_over(text, images, manner).boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        async move {
            self.stopped.store(true, Ordering::Release);
            if let Err(error) = self.agent.abort().await {
                tracing::warn!(%error, "the agent did not take an abort");
            }
        }
        .boxed()
    }

    fn abort_retry(&self) -> BoxFuture<'_, ()> {
        async move {
            let stopped = match self.agent.can(Intent::AbortRetry) {
                true => self.agent.abort_retry().await,
                false => self.agent.abort().await,
            };
            if let Err(error) = stopped {
                tracing::warn!(%error, "the agent did not give up its retry");
            }
        }
        .boxed()
    }

    fn clear_queues(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if !self.agent.can(Intent::ClearQueue) {
            return;
        }
        self.later("clearing the queues", |agent| async move { agent.clear_queue().await.map(drop) });
    }

    fn interrupt(&self, mode: InterruptMode) {
        self.later("the interrupt mode", move |agent| async move {
            agent.set_interrupt_mode(mode.as_str()).await
        });
    }

    fn rename(&self, name: &str) {
        if !self.agent.can(Intent::SetSessionName) {
            // The name is kept for the front alone.
            return;
        }
        let name = name.to_owned();
        self.later("the session's name", |agent| async move { agent.set_session_name(&name).await });
    }

    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        async move {
            if !self.agent.can(Intent::Commands) {
                return Vec::new();
            }
            let commands = self.agent.commands().await.unwrap_or_default();
            commands.into_iter().map(convert::command).collect()
        }
        .boxed()
    }

    fn used(&self) -> BoxFuture<'_, Option<Used>> {
        async move {
            if !self.agent.can(Intent::Stats) {
                return None;
            }
            let told = self.agent.stats().await.ok()?.usage;
            // Some tell how full the context is, and nothing else.
            told.input.or(told.output)?;
            Some(convert::used(&told))
        }
        .boxed()
    }

    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<Compacted, Unwilling>> {
        async move {
            self.behind_settings().await;
            let takes_focus = self.agent.takes(Intent::Compact, "instructions");
            if focus.is_some() && !takes_focus {
                let says = "the agent takes no instructions for a summary: it makes its own";
                self.person.tell(says, "warning");
            }
            let focus = focus.filter(|_| takes_focus);
            let made = self.agent.compact(focus).await;
            let message = made.map_err(|error| reason(&error))?;
            let now = self.agent.conversation();
            let told = now.messages.iter().rev().find(|message| message.role == Role::Summary);
            let summary = message.as_ref().or(told.map(|told| &**told));
            let text = summary.map(Message::text).unwrap_or_default();
            let before = summary.and_then(|summary| summary.tokens_before).unwrap_or_default();
            let kept = kept(&self.agent).await;
            settled(&self.words).await;
            Ok(Compacted { result: CompactionResult::new(text, "", before), kept })
        }
        .boxed()
    }

    fn bash<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        _shown: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<RpcBashOutput, Unwilling>> {
        async move {
            let done = match hidden {
                // What is to stay hidden is not run where the model would see it.
                true if self.agent.takes(Intent::Bash, "hidden") => self.agent.bash_hidden(command).await,
                true => return Err(cannot_hide(&self.agent)),
                false => self.agent.bash(command).await,
            };
            let done = done.map_err(|error| reason(&error))?;
            Ok(RpcBashOutput {
                output: done.output,
                exit_code: done.exit_code.and_then(|code| i32::try_from(code).ok()),
                cancelled: done.cancelled,
                truncated: done.truncated,
                full_output_path: None,
            })
        }
        .boxed()
    }

    fn abort_bash(&self) {
        let agent = self.agent.clone();
        // It overtakes the command that it stops.
        tokio::spawn(async move { agent.abort_bash().await });
    }

    fn export<'a>(&'a self, path: Option<&'a str>) -> BoxFuture<'a, Result<PathBuf, Unwilling>> {
        async move {
            let written = self.agent.export(path).await.map_err(|error| reason(&error))?;
            written.map(PathBuf::from).ok_or_else(|| "the agent does not say where the page is".to_owned())
        }
        .boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, Unwilling>> {
        self.moves(async {
            let moved = self.agent.new_session().await.map_err(|error| reason(&error))?;
            self.stands.leave(moved);
            Ok(moved)
        })
        .boxed()
    }

    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, Unwilling>> {
        async move {
            let path = path.to_string_lossy();
            self.moves(async {
                let moved = self.agent.open_session(&path).await.map_err(|error| reason(&error))?;
                self.stands.leave(moved);
                Ok(moved)
            })
            .await
        }
        .boxed()
    }

    fn kept<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<PathBuf>, Unwilling>> {
        async move {
            let name = Places::of(self.agent.spec()).name_of(&self.agent, &here(), id).await;
            // Nobody knows whether it keeps that session: a fresh one in its place would be another conversation.
            let failed =
                |error| format!("the agent does not say which sessions it keeps: {}", reason(&error));
            Ok(name.map_err(failed)?.map(PathBuf::from))
        }
        .boxed()
    }

    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, Unwilling>> {
        let fork = async move {
            let Some(entry) = self.place(number, text).await? else {
                let moved = self.agent.new_session().await.map_err(|error| reason(&error))?;
                self.stands.leave(moved);
                return Ok(moved);
            };
            let before = self.stands.with(&self.agent.conversation());
            self.person.forks_before(text);
            let moved = !self.agent.fork(&entry).await.map_err(|error| reason(&error))?.cancelled;
            if moved {
                self.stands.cut(before, &entry);
            }
            Ok(moved)
        };
        self.moves(fork).boxed()
    }

    fn session(&self) -> BoxFuture<'_, Opened> {
        async move {
            if !self.agent.can(Intent::State) {
                return Opened::default();
            }
            match self.agent.state().await {
                Ok(state) => convert::opened(&state),
                Err(error) => {
                    tracing::warn!(%error, "the agent does not say which session it has");
                    Opened::default()
                }
            }
        }
        .boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, Unwilling>> {
        async move {
            let told = match self.agent.can(Intent::Messages) {
                true => Some(self.agent.messages().await),
                false => None,
            };
            arrived(&self.words).await;
            let messages = told.transpose().map_err(|error| reason(&error))?;
            // What it tells is not the conversation where that is not known behind it.
            let messages = messages.filter(|_| self.agent.conversation().complete);
            Ok(messages.map(|messages| history(&messages.iter().collect::<Vec<_>>())))
        }
        .boxed()
    }
}
