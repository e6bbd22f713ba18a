//! Event loop of a bridge. It converts neutral events of the agent to remote events for the engine, in order,
//! and detects the ends of runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::Error;
use agentese::any::{Agent, Events, Intent, Run, UserInput};
use agentese::types::CompactionResult;
use agentese::view::{Conversation, Notice, Role};
use agentese_server_engine::engine::{InputQueue, RemoteCompaction, RemoteEvent};
use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::client_ui::ClientUi;
use super::control::Control;
use super::convert;
use super::event_queue;
use super::session_switch::{SessionSwitchTracker, SwitchStage};
use super::tool_call_buffer::{ToolCallBuffer, may_call};
use super::translator::{RemoteEventTranslator, Step};

/// Input that the agent cannot queue, in order. Each item has the queue for which it was sent.
pub(super) type HeldInput = Arc<Mutex<VecDeque<(InputQueue, UserInput)>>>;

/// The state of held input that continues a run, so that the end of the run is not reported.
#[derive(Default)]
pub(super) enum MergeState {
    #[default]
    None,
    /// The engine has not received the input as part of the conversation yet.
    Unreported(String),
    Reported,
}

/// The event loop: converts the events of the agent to remote events.
pub(super) struct EventLoop {
    pub agent: Agent,
    pub events: Events,
    pub ui: ClientUi,
    pub translator: RemoteEventTranslator,
    pub tool_calls: ToolCallBuffer,
    /// `true` if held tool calls were released because of a question of the agent; the question waits until
    /// they are delivered.
    pub question_waits: bool,
    pub remote_events: event_queue::Sender,
    /// `true` if a run has ended but its end was not reported, because the response to its prompt is missing,
    /// or because held input continues the run.
    pub unanswered: bool,
    /// `true` if a prompt was processed, and the engine has not been notified that the agent is idle.
    pub idle_pending: bool,
    /// The state of held input that continues the run.
    pub merge: MergeState,
    /// The text of input that the bridge has already reported. If the agent reports the input too, that
    /// second report is dropped.
    pub reported_input: Option<String>,
    /// The number of setting changes in progress.
    pub pending_settings: Arc<AtomicUsize>,
    /// The session name that the agent reported last during setting changes; the next field is the thinking
    /// level. Only the last values are passed on, because earlier ones may be outdated.
    pub pending_name: Option<RemoteEvent>,
    pub pending_thinking: Option<RemoteEvent>,
    pub open_prompts: Arc<AtomicUsize>,
    pub held_input: HeldInput,
    pub control: UnboundedSender<Control>,
    /// `true` if the user has stopped the run.
    pub stopped: Arc<AtomicBool>,
    pub session_switch: SessionSwitchTracker,
    pub disconnect_reason: Arc<Mutex<Option<String>>>,
}

impl EventLoop {
    pub async fn run(mut self, mut messages: UnboundedReceiver<Control>) {
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(Ok(event)) => self.handle_event(event),
                    Some(Err(error)) => return self.disconnected(&error),
                    None => return,
                },
                () = self.tool_calls.wait_for_deadline() => {
                    let now = self.agent.conversation();
                    self.tool_calls.release_started().into_iter().for_each(|step| self.apply(step, &now));
                }
                word = messages.recv() => {
                    // Events that arrived before the message are processed first.
                    while let Some(Some(event)) = self.events.next().now_or_never() {
                        match event {
                            Ok(event) => self.handle_event(event),
                            Err(error) => return self.disconnected(&error),
                        }
                    }
                    if word.as_ref().is_none_or(Control::ends_calls) {
                        self.flush_tool_calls();
                    }
                    match word {
                        Some(Control::PromptEnded(refused)) => self.prompt_ended(refused),
                        Some(Control::PromptRejected) => self.close_prompt(),
                        Some(Control::SettingFinished) => self.setting_finished(),
                        Some(Control::SessionSwitched) => self.session_switch.switch.enter(SwitchStage::Switched),
                        Some(Control::MarkReported(done)) => {
                            self.translator.mark_reported(&self.agent.conversation());
                            let _ = done.send(());
                        }
                        Some(Control::SwitchEnded(done)) => {
                            self.end_switch();
                            let _ = done.send(());
                        }
                        Some(Control::QuestionReceived(done)) if std::mem::take(&mut self.question_waits) => self.remote_events.mark(done),
                        Some(Control::QuestionReceived(done)) => drop(done.send(())),
                        None => return,
                    }
                }
            }
        }
    }

    fn handle_event(&mut self, event: agentese::any::Event) {
        let now = self.agent.conversation();
        let over = matches!(event, agentese::any::Event::StateChanged { .. }) && self.translator.working();
        let may_call = may_call(&event);
        // The question may belong to a tool that runs or starts next, so the client must receive its call
        // first.
        if matches!(event, agentese::any::Event::QuestionOpened { .. }) {
            let started_calls = self.tool_calls.release_for_question();
            self.question_waits |= !started_calls.is_empty();
            started_calls.into_iter().for_each(|step| self.apply(step, &now));
        }
        let steps = self.translator.translate(event, &now);
        for step in self.tool_calls.push(steps, may_call) {
            self.apply(step, &now);
        }
        // For work that the bridge did not request, no other end is reported.
        if over && !self.translator.working() && self.open_prompts.load(Ordering::Acquire) == 0 {
            self.on_idle();
        }
    }

    fn end_switch(&mut self) {
        let now = self.agent.conversation();
        self.translator.mark_reported(&now);
        for event in self.session_switch.finish() {
            self.apply(Step::Event(event), &now);
        }
    }

    /// Releases the held answer without waiting for further tool calls.
    fn flush_tool_calls(&mut self) {
        let now = self.agent.conversation();
        for step in self.tool_calls.flush() {
            self.apply(step, &now);
        }
    }

    fn apply(&mut self, step: Step, now: &Conversation) {
        let step = match step {
            Step::Event(event) => match self.session_switch.filter(event) {
                Some(event) => Step::Event(event),
                None => return,
            },
            step => step,
        };
        match step {
            // The response to the prompt determines if further work follows.
            Step::Event(event @ RemoteEvent::RunEnded { .. }) => {
                self.reported_input = None;
                self.idle_pending = true;
                let waits = self.agent.spec().run_end.answer_ends || self.has_held_input();
                self.unanswered = waits && self.open_prompts.load(Ordering::Acquire) > 0;
                if !self.unanswered {
                    self.send(event);
                }
            }
            Step::Event(RemoteEvent::RunStarted) if self.unanswered => {
                self.unanswered = false;
                match std::mem::take(&mut self.merge) {
                    MergeState::Unreported(words) => {
                        self.reported_input = Some(words.clone());
                        self.send(RemoteEvent::MessageAdded(Box::new(convert::user(words))));
                    }
                    MergeState::Reported => {}
                    MergeState::None => {
                        self.send(RemoteEvent::RunEnded { will_retry: true });
                        self.send(RemoteEvent::RunStarted);
                    }
                }
            }
            Step::Event(RemoteEvent::MessageAdded(said))
                if self.reported_input.is_some() && convert::user_text(&said) == self.reported_input =>
            {
                self.reported_input = None;
            }
            // The agent reports the held input itself.
            Step::Event(RemoteEvent::MessageAdded(said))
                if matches!(self.merge, MergeState::Unreported(_)) =>
            {
                self.merge = MergeState::Reported;
                self.send(RemoteEvent::MessageAdded(said));
            }
            Step::Event(event @ RemoteEvent::SessionNamed(_)) if self.has_pending_settings() => {
                self.pending_name = Some(event)
            }
            Step::Event(event @ RemoteEvent::ThinkingChanged(_)) if self.has_pending_settings() => {
                self.pending_thinking = Some(event)
            }
            Step::Event(event) => self.send(event),
            Step::CompactionEnded { summary, error, aborted } => {
                let over =
                    move |result| RemoteEvent::CompactionEnded { result, aborted, will_retry: false, error };
                let Some((summary, before)) = summary else { return self.send(over(None)) };
                let (agent, control) = (self.agent.clone(), self.control.clone());
                self.remote_events.send_deferred(async move {
                    let kept = kept_message_count(&agent).await;
                    mark_reported(&control).await;
                    over(Some(RemoteCompaction {
                        result: CompactionResult::new(summary, "", before),
                        kept_messages: kept,
                    }))
                });
            }
            Step::Notice(notice) => self.report_notice(notice),
            Step::Panels => self.ui.update_panels(now),
        }
    }

    fn report_notice(&self, notice: Notice) {
        match notice.source {
            Some(source) if is_refusal(&self.agent, &source) => {}
            Some(who) if notice.level == "error" => {
                self.send(RemoteEvent::ExtensionFailed {
                    extension: who,
                    event: String::new(),
                    error: notice.text,
                });
            }
            _ => self.ui.show_notice(&notice),
        }
    }

    fn prompt_ended(&mut self, refused: Option<String>) {
        if let Some(error) = refused.filter(|_| self.translator.working()) {
            self.translator.report_failure(error).into_iter().for_each(|step| {
                if let Step::Event(event) = step {
                    self.send(event);
                }
            });
        }
        self.idle_pending = true;
        self.close_prompt();
    }

    /// Handles the end of a prompt. After the last prompt, handles the idle agent, if that is due or if held
    /// input is left.
    fn close_prompt(&mut self) {
        let open_prompts = self.open_prompts.fetch_sub(1, Ordering::AcqRel) - 1;
        let goes_on = self.has_held_input() && !self.stopped.load(Ordering::Acquire);
        if open_prompts == 0 && !self.translator.working() && (self.idle_pending || goes_on) {
            self.on_idle();
        }
    }

    /// Returns `true` if setting changes are in progress.
    fn has_pending_settings(&self) -> bool {
        self.pending_settings.load(Ordering::Acquire) > 0
    }

    /// Handles the end of a setting change. After the last one, passes on the values that the agent reported
    /// in the meantime.
    fn setting_finished(&mut self) {
        if self.pending_settings.fetch_sub(1, Ordering::AcqRel) == 1 {
            let last = [self.pending_name.take(), self.pending_thinking.take()];
            last.into_iter().flatten().for_each(|event| self.send(event));
        }
    }

    fn has_held_input(&self) -> bool {
        !self.held_input.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Handles an idle agent: sends it the next held input. Without held input, reports that the agent is idle.
    fn on_idle(&mut self) {
        let held_input = match self.stopped.swap(false, Ordering::AcqRel) {
            // After a stop, held input waits for the next prompt.
            true => None,
            false => self.held_input.lock().unwrap_or_else(PoisonError::into_inner).pop_front(),
        };
        let Some((_, input)) = held_input else {
            self.merge = MergeState::None;
            if std::mem::take(&mut self.unanswered) {
                self.send(RemoteEvent::RunEnded { will_retry: false });
            }
            self.idle_pending = false;
            return self.send(RemoteEvent::Settled { aborted: false });
        };
        if self.unanswered {
            self.merge = MergeState::Unreported(input.text.clone());
        }
        self.open_prompts.fetch_add(1, Ordering::AcqRel);
        let (agent, over, ui) = (self.agent.clone(), self.control.clone(), self.ui.clone());
        tokio::spawn(async move {
            if let Err(error) = start_prompt(&agent, input, &over).await {
                ui.notify(&reason(&error), "error");
                let _ = over.send(Control::PromptEnded(None));
            }
        });
    }

    fn disconnected(&mut self, error: &Error) {
        self.flush_tool_calls();
        let reason = reason(error);
        *self.disconnect_reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
        self.send(RemoteEvent::Disconnected(reason));
    }

    fn send(&self, event: RemoteEvent) {
        self.remote_events.send(event);
    }
}

/// Returns `true` if a notice repeats the rejection of a command. The sender of the command has already
/// received the rejection.
pub(super) fn is_refusal(agent: &Agent, source: &str) -> bool {
    let spec = agent.spec();
    spec.command(source).is_some() || spec.edges.parse_command == source
}

/// Marks the current messages as received by the engine in a history, so that their events are not reported.
pub(super) async fn mark_reported(control: &UnboundedSender<Control>) {
    send_and_wait(control, Control::MarkReported).await;
}

/// Marks the messages like [`mark_reported`], and ends a change of the conversation.
pub(super) async fn end_switch(control: &UnboundedSender<Control>) {
    send_and_wait(control, Control::SwitchEnded).await;
}

async fn send_and_wait(control: &UnboundedSender<Control>, message: fn(oneshot::Sender<()>) -> Control) {
    let (done, over) = oneshot::channel();
    if control.send(message(done)).is_ok() {
        let _ = over.await;
    }
}

/// Returns the number of messages after the summary of a compaction.
pub(super) async fn kept_message_count(agent: &Agent) -> usize {
    if !agent.supports(Intent::Messages) {
        return 0;
    }
    let messages = agent.messages().await.unwrap_or_default();
    let behind = messages.iter().rev().take_while(|message| message.role != Role::Summary).count();
    if behind == messages.len() { 0 } else { behind }
}

/// Sends a prompt, and returns once its run has started. When the run has ended, sends a message to `over`. Fails
/// without that message if the prompt is rejected.
pub(super) async fn start_prompt(
    agent: &Agent,
    input: UserInput,
    over: &UnboundedSender<Control>,
) -> Result<(), Error> {
    let at_the_end = agent.spec().run_end.answer_ends;
    let begun = match agent.prompt(input).await {
        Ok(run) if at_the_end => wait_for_start(run).await?,
        begun => Some(begun?),
    };
    let over = over.clone();
    let Some(run) = begun else {
        let _ = over.send(Control::PromptEnded(None));
        return Ok(());
    };
    tokio::spawn(async move {
        let refused = match run.result().await {
            Err(Error::Refused(refused)) => Some(refused.message.clone()),
            // In such dialects, a failed run is reported in the response to its command.
            Err(Error::RunFailed(failure)) if at_the_end => Some(failure.message.clone()),
            _ => None,
        };
        let _ = over.send(Control::PromptEnded(refused));
    });
    Ok(())
}

/// Waits for the start of a run, for agents that respond to a prompt only at the end. Returns `None` if the run has
/// already ended. Fails if the agent rejects the prompt before the start.
async fn wait_for_start(mut run: Run) -> Result<Option<Run>, Error> {
    use agentese::any::Event;
    while let Some(Ok(event)) = run.next().await {
        if matches!(event, Event::StateChanged { .. } | Event::MessageStarted { .. }) {
            return Ok(Some(run));
        }
    }
    run.result().await.map(|_| None)
}

/// Returns an error message for the user.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Refused(refused) => refused.message.clone(),
        error => error.to_string(),
    }
}
