//! The remote agent of the engine: passes input and commands to the agent behind the bridge, and returns its
//! deeds.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::any::{Agent, Intent, takes};
use agentese::types::{AgentMessage, CompactionResult, ImageContent, InterruptMode};
use agentese::view::{Message, Role};
use agentese_server_base::ui::Ui;
use agentese_server_engine::engine::{Compacted, Deed, Lead, Manner, Opened, Unwilling, Used};
use agentese_server_engine::resources::CommandInfo;
use agentese_server_tools::RpcBashOutput;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::control::Word;
use super::convert::{self, history};
use super::deeds::Deeds;
use super::kept::Places;
use super::late::Late;
use super::launch::here;
use super::moves::{Move, News, Stage};
use super::person::Person;
use super::place::{self, Stands};
use super::pump::{Held, Joining, Pump, arrived, is_refusal, kept, reason, settled};
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
    /// The settings on their way to the agent, one after the other.
    jobs: UnboundedSender<Job>,
    /// The number of these settings.
    unset: Arc<AtomicUsize>,
    words: UnboundedSender<Word>,
    /// The number of prompts with unfinished work.
    open: Arc<AtomicUsize>,
    /// The input for which the agent has no queue.
    held: Held,
    /// `true` if the run was stopped: held input waits for the next prompt.
    stopped: Arc<AtomicBool>,
    /// The switch to another conversation.
    moves: Move,
    /// The conversation before a fork, if the agent did not repeat it.
    stands: Stands,
    /// Cancelled after the engine has reported the disconnect of the agent.
    parted: CancellationToken,
    /// The reason of the disconnect.
    gone: Arc<Mutex<Option<String>>>,
}

impl Remote {
    /// Starts listening to the agent. Must be called on a tokio runtime.
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

    /// Returns the token that is cancelled after the disconnect of the agent was reported.
    pub fn parted(&self) -> CancellationToken {
        self.parted.clone()
    }

    /// Returns the reason of the disconnect. Returns `None` while the agent is connected.
    pub fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Switches the agent to another conversation. Events about the new conversation are dropped.
    async fn moves(&self, asked: impl Future<Output = Result<bool, Unwilling>>) -> Result<bool, Unwilling> {
        self.behind_settings().await;
        self.moves.enter(Stage::Asked);
        let done = asked.await;
        match done {
            // Earlier events of the agent come first.
            Ok(true) => drop(self.words.send(Word::Moved)),
            _ => arrived(&self.words).await,
        }
        done
    }

    /// Returns the entry after which the conversation continues, so that it ends before a user message.
    /// Returns `None` for the start of the conversation. Fails if the agent does not have the message.
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

/// Returns the reason why the agent runs no command with output hidden from its model.
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
            // The name is stored only in the front.
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
            // Some agents report the usage of the context and nothing else.
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
                // A hidden command must not run if the model would see its output.
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
        // This command overtakes the command that it stops.
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
            // A new session in place of an unknown one would be another conversation.
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
            // The messages are not the whole conversation if the agent's view is incomplete.
            let messages = messages.filter(|_| self.agent.conversation().complete);
            Ok(messages.map(|messages| history(&messages.iter().collect::<Vec<_>>())))
        }
        .boxed()
    }
}
