//! The remote agent of the engine. It passes input and commands to the agent behind the bridge, and returns
//! the agent's events.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::any::{Agent, Intent, accepts_param};
use agentese::types::{AgentMessage, CompactionResult, ImageContent, InterruptMode};
use agentese::view::{Message, Role};
use agentese_server_base::ui::Ui;
use agentese_server_engine::engine::{
    Delivery, RemoteAgent, RemoteCompaction, RemoteError, RemoteEvent, RemoteSession, ReportedUsage,
};
use agentese_server_engine::resources::CommandInfo;
use agentese_server_tools::RpcBashOutput;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::client_ui::ClientUi;
use super::control::Control;
use super::convert::{self, history};
use super::event_loop::{
    EventLoop, HeldInput, MergeState, end_switch, is_refusal, kept_message_count, mark_reported, reason,
};
use super::event_queue;
use super::fork_point::{self, ForkHistory};
use super::launch::current_dir;
use super::session_switch::{SessionSwitch, SessionSwitchTracker, SwitchStage};
use super::stored_sessions::SessionDirectories;
use super::tool_call_buffer::ToolCallBuffer;
use super::translator::RemoteEventTranslator;

mod input;
#[cfg(test)]
mod tests;

type Job = BoxFuture<'static, ()>;

/// The agent behind the bridge.
pub(super) struct DialectRemoteAgent {
    pub(super) agent: Agent,
    ui: ClientUi,
    events: tokio::sync::Mutex<event_queue::Receiver>,
    /// Queue of setting changes, which are applied to the agent one after the other.
    jobs: UnboundedSender<Job>,
    /// The number of setting changes in progress.
    pending_settings: Arc<AtomicUsize>,
    control: UnboundedSender<Control>,
    /// The number of prompts that have not been processed completely.
    open_prompts: Arc<AtomicUsize>,
    /// Input that the agent cannot queue.
    held_input: HeldInput,
    /// `true` if the user has stopped the run. Held input then waits for the next prompt.
    stopped: Arc<AtomicBool>,
    /// The progress of a change to another conversation.
    switch: SessionSwitch,
    /// The messages before a fork, if the agent has not sent them again.
    fork_history: ForkHistory,
    /// Cancelled after the engine has reported the disconnect of the agent.
    disconnected: CancellationToken,
    /// The reason of the disconnect.
    disconnect_reason: Arc<Mutex<Option<String>>>,
}

impl DialectRemoteAgent {
    /// Creates the remote agent and starts to receive the agent's events. Must be called on a Tokio runtime.
    pub fn new(agent: Agent, ui: ClientUi) -> Self {
        let (remote_events, events) = event_queue::channel();
        let (jobs, mut waiting) = unbounded_channel::<Job>();
        let (control, control_messages) = unbounded_channel();
        let disconnect_reason = Arc::<Mutex<Option<String>>>::default();
        let (open_prompts, pending_settings) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (switch, held_input) = (SessionSwitch::default(), HeldInput::default());
        let stopped = Arc::<AtomicBool>::default();
        let mut translator = RemoteEventTranslator::default();
        let now = agent.conversation();
        translator.mark_reported(&now);
        let is_refusal = |source: &String| is_refusal(&agent, source);
        let unseen = now.notices.iter().filter(|notice| !notice.source.as_ref().is_some_and(is_refusal));
        unseen.for_each(|notice| ui.show_notice(notice));
        let event_loop = EventLoop {
            events: agent.events(),
            agent: agent.clone(),
            ui: ui.clone(),
            translator,
            tool_calls: ToolCallBuffer::default(),
            question_waits: false,
            remote_events,
            unanswered: false,
            idle_pending: false,
            merge: MergeState::None,
            reported_input: None,
            pending_settings: pending_settings.clone(),
            pending_name: None,
            pending_thinking: None,
            open_prompts: open_prompts.clone(),
            held_input: held_input.clone(),
            control: control.clone(),
            stopped: stopped.clone(),
            session_switch: SessionSwitchTracker::of(switch.clone()),
            disconnect_reason: disconnect_reason.clone(),
        };
        ui.set_event_loop(control.clone());
        tokio::spawn(event_loop.run(control_messages));
        tokio::spawn(async move {
            while let Some(job) = waiting.recv().await {
                job.await;
            }
        });
        let events = tokio::sync::Mutex::new(events);
        let (disconnected, fork_history) = (CancellationToken::new(), ForkHistory::default());
        Self {
            agent,
            ui,
            events,
            jobs,
            pending_settings,
            control,
            open_prompts,
            held_input,
            stopped,
            switch,
            fork_history,
            disconnected,
            disconnect_reason,
        }
    }

    /// Returns a token that is cancelled once the engine has reported the disconnect of the agent.
    pub fn disconnected(&self) -> CancellationToken {
        self.disconnected.clone()
    }

    /// Returns the reason of the disconnect. Returns `None` while the agent is connected.
    pub fn disconnect_reason(&self) -> Option<String> {
        self.disconnect_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Switches the agent to another conversation. Events about the new conversation are dropped, because its
    /// data is queried.
    async fn switch_conversation(
        &self,
        request: impl Future<Output = Result<bool, RemoteError>>,
    ) -> Result<bool, RemoteError> {
        self.wait_for_settings().await;
        self.switch.enter(SwitchStage::Requested);
        let done = request.await;
        match done {
            // Earlier events of the agent are processed first.
            Ok(true) => drop(self.control.send(Control::SessionSwitched)),
            _ => end_switch(&self.control).await,
        }
        done
    }

    /// Returns the id of the entry with which the conversation ends before a user message. Returns `None` if the user
    /// message is the first. Fails if the agent does not have the message.
    async fn entry_before(&self, number: usize, text: &str) -> Result<Option<String>, RemoteError> {
        if self.agent.supports(Intent::ForkPoints) {
            let points = self.agent.fork_points().await.map_err(|error| reason(&error))?;
            return fork_point::listed_point(&points, number, text).map(Some);
        }
        if self.agent.supports(Intent::Messages) {
            self.agent.messages().await.map_err(|error| reason(&error))?;
        }
        fork_point::entry_before(
            &self.fork_history.full_conversation(&self.agent.conversation()),
            number,
            text,
        )
    }
}

/// Returns the error for a command whose output the agent cannot hide from its model.
fn cannot_hide(agent: &Agent) -> RemoteError {
    let spec = agent.spec();
    let cannot = "the agent is not known to hide the output of a command from its model";
    match spec.revisions.iter().find(|revision| accepts_param(revision, Intent::Bash, "hidden")) {
        Some(revision) => {
            format!("{cannot}; if its revision can, pass `--from {}`", revision.id())
        }
        None => cannot.to_owned(),
    }
}

impl RemoteAgent for DialectRemoteAgent {
    fn next_event(&self) -> BoxFuture<'_, RemoteEvent> {
        async move { self.events.lock().await.next().await }.boxed()
    }

    fn connect(&self, ui: Arc<dyn Ui>) {
        self.ui.connect(ui);
        self.ui.update_panels(&self.agent.conversation());
    }

    fn on_disconnected(&self) {
        self.disconnected.cancel();
    }

    fn submit<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        delivery: Delivery,
    ) -> BoxFuture<'a, Result<(), RemoteError>> {
        self.send_input(text, images, delivery).boxed()
    }

    fn abort(&self) -> BoxFuture<'_, ()> {
        async move {
            self.stopped.store(true, Ordering::Release);
            if let Err(error) = self.agent.abort().await {
                tracing::warn!(%error, "cannot abort the run of the agent");
            }
        }
        .boxed()
    }

    fn abort_retry(&self) -> BoxFuture<'_, ()> {
        async move {
            let stopped = match self.agent.supports(Intent::AbortRetry) {
                true => self.agent.abort_retry().await,
                false => self.agent.abort().await,
            };
            if let Err(error) = stopped {
                tracing::warn!(%error, "cannot abort the retry of the agent");
            }
        }
        .boxed()
    }

    fn clear_queues(&self) {
        self.held_input.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if !self.agent.supports(Intent::ClearQueue) {
            return;
        }
        self.queue_change(
            "cannot clear the queues",
            |agent| async move { agent.clear_queue().await.map(drop) },
        );
    }

    fn set_interrupt_mode(&self, mode: InterruptMode) {
        self.queue_change("cannot set the interrupt mode", move |agent| async move {
            agent.set_interrupt_mode(mode.as_str()).await
        });
    }

    fn rename(&self, name: &str) {
        if !self.agent.supports(Intent::SetSessionName) {
            // Without such a command, the name is stored only in the server.
            return;
        }
        let name = name.to_owned();
        self.queue_change("cannot set the name of the session", |agent| async move {
            agent.set_session_name(&name).await
        });
    }

    fn commands(&self) -> BoxFuture<'_, Vec<CommandInfo>> {
        async move {
            if !self.agent.supports(Intent::Commands) {
                return Vec::new();
            }
            let commands = self.agent.commands().await.unwrap_or_default();
            commands.into_iter().map(convert::command).collect()
        }
        .boxed()
    }

    fn usage(&self) -> BoxFuture<'_, Option<ReportedUsage>> {
        async move {
            if !self.agent.supports(Intent::Stats) {
                return None;
            }
            let reported = self.agent.stats().await.ok()?.usage;
            // Some agents report the usage of the context but no tokens.
            reported.input.or(reported.output)?;
            Some(convert::reported_usage(&reported))
        }
        .boxed()
    }

    fn compact<'a>(&'a self, focus: Option<&'a str>) -> BoxFuture<'a, Result<RemoteCompaction, RemoteError>> {
        async move {
            self.wait_for_settings().await;
            let takes_focus = self.agent.accepts_param(Intent::Compact, "instructions");
            if focus.is_some() && !takes_focus {
                let warning = "the agent does not accept instructions for a summary; they are ignored";
                self.ui.notify(warning, "warning");
            }
            let focus = focus.filter(|_| takes_focus);
            let made = self.agent.compact(focus).await;
            let message = made.map_err(|error| reason(&error))?;
            let now = self.agent.conversation();
            let known = now.messages.iter().rev().find(|message| message.role == Role::Summary);
            let summary = message.as_ref().or(known.map(|told| &**told));
            let text = summary.map(Message::text).unwrap_or_default();
            let before = summary.and_then(|summary| summary.tokens_before).unwrap_or_default();
            let kept = kept_message_count(&self.agent).await;
            mark_reported(&self.control).await;
            Ok(RemoteCompaction { result: CompactionResult::new(text, "", before), kept_messages: kept })
        }
        .boxed()
    }

    fn bash<'a>(
        &'a self,
        command: &'a str,
        hidden: bool,
        _shown: &'a mut (dyn FnMut(&str) + Send),
    ) -> BoxFuture<'a, Result<RpcBashOutput, RemoteError>> {
        async move {
            let done = match hidden {
                // A command with hidden output is not run if the agent would pass the output to its model.
                true if self.agent.accepts_param(Intent::Bash, "hidden") => {
                    self.agent.bash_hidden(command).await
                }
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
        // This command must overtake the command that it stops, so it is not queued.
        tokio::spawn(async move { agent.abort_bash().await });
    }

    fn export<'a>(&'a self, path: Option<&'a str>) -> BoxFuture<'a, Result<PathBuf, RemoteError>> {
        async move {
            let written = self.agent.export(path).await.map_err(|error| reason(&error))?;
            written
                .map(PathBuf::from)
                .ok_or_else(|| "the agent did not report the path of the page".to_owned())
        }
        .boxed()
    }

    fn new_session(&self) -> BoxFuture<'_, Result<bool, RemoteError>> {
        self.switch_conversation(async {
            let moved = self.agent.new_session().await.map_err(|error| reason(&error))?;
            self.fork_history.clear_if(moved);
            Ok(moved)
        })
        .boxed()
    }

    fn switch_session<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<bool, RemoteError>> {
        async move {
            let path = path.to_string_lossy();
            self.switch_conversation(async {
                let moved = self.agent.open_session(&path).await.map_err(|error| reason(&error))?;
                self.fork_history.clear_if(moved);
                Ok(moved)
            })
            .await
        }
        .boxed()
    }

    fn find_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<PathBuf>, RemoteError>> {
        async move {
            let name =
                SessionDirectories::of(self.agent.spec()).name_of(&self.agent, &current_dir(), id).await;
            // If the list fails, no session is opened, because a new session would be another conversation.
            let failed = |error| format!("cannot list the stored sessions of the agent: {}", reason(&error));
            Ok(name.map_err(failed)?.map(PathBuf::from))
        }
        .boxed()
    }

    fn fork<'a>(&'a self, number: usize, text: &'a str) -> BoxFuture<'a, Result<bool, RemoteError>> {
        let fork = async move {
            let Some(entry) = self.entry_before(number, text).await? else {
                let moved = self.agent.new_session().await.map_err(|error| reason(&error))?;
                self.fork_history.clear_if(moved);
                return Ok(moved);
            };
            let before = self.fork_history.full_conversation(&self.agent.conversation());
            self.ui.record_fork_text(text);
            let moved = !self.agent.fork(&entry).await.map_err(|error| reason(&error))?.cancelled;
            if moved {
                self.fork_history.record(before, &entry);
            }
            Ok(moved)
        };
        self.switch_conversation(fork).boxed()
    }

    fn session(&self) -> BoxFuture<'_, RemoteSession> {
        async move {
            if !self.agent.supports(Intent::State) {
                return RemoteSession::default();
            }
            match self.agent.state().await {
                Ok(state) => convert::remote_session(&state),
                Err(error) => {
                    tracing::warn!(%error, "cannot query the session of the agent");
                    RemoteSession::default()
                }
            }
        }
        .boxed()
    }

    fn history(&self) -> BoxFuture<'_, Result<Option<Vec<AgentMessage>>, RemoteError>> {
        async move {
            let response = match self.agent.supports(Intent::Messages) {
                true => Some(self.agent.messages().await),
                false => None,
            };
            end_switch(&self.control).await;
            let messages = response.transpose().map_err(|error| reason(&error))?;
            // If the client's view is incomplete, the messages are not the whole conversation.
            let messages = messages.filter(|_| self.agent.conversation().complete);
            Ok(messages.map(|messages| history(&messages.iter().collect::<Vec<_>>())))
        }
        .boxed()
    }
}
