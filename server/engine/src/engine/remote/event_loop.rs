//! The task that emits and stores the events of a remote agent, in their order.

use std::sync::{Arc, PoisonError, Weak};

use agentese::types::AgentMessage;

use super::delivery::{GRACE, NO_ABORT};
use super::run::RemoteRun;
use crate::engine::policies::compaction::branch::apply_remote_compaction;
use crate::engine::run::lifecycle::drop_failed_answer;
use crate::engine::shared::{RemoteState, Work};
use crate::engine::state::{WorkKind, WorkPhase};
use crate::engine::{Engine, Event, RemoteAgent, RemoteEvent, Shared};
use crate::ui::Ui;

/// Log message about a run that did not end after an abort.
const NO_END: &str = "The agent did not end its run after an abort.";

impl Engine {
    /// Starts emitting the events of the remote agent, if there is one, and forwards its questions to `ui`. Needs a
    /// runtime. Only the first call has an effect.
    pub fn start_remote_events(&self, ui: Arc<dyn Ui>) {
        let Some(remote) = &self.shared.remote else { return };
        let mut task = remote.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            remote.agent.connect(ui);
            *task = Some(
                tokio::spawn(run_event_loop(Arc::downgrade(&self.shared), remote.agent.clone()))
                    .abort_handle(),
            );
        }
    }
}

/// Emits the events of the remote agent until the engine is dropped.
async fn run_event_loop(shared: Weak<Shared>, agent: Arc<dyn RemoteAgent>) {
    let mut translator = EventTranslator::default();
    // Time at which an aborted run is given up.
    let mut given_up = None;
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let Some(remote) = &strong.remote else { return };
        let abort = translator.work.as_ref().map(Work::abort_token);
        let aborted = async {
            match (&abort, given_up) {
                (Some(abort), None) => abort.cancelled().await,
                _ => std::future::pending().await,
            }
        };
        let grace_over = async {
            match given_up {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = aborted => {
                given_up = Some(tokio::time::Instant::now() + GRACE);
                // The wait is bounded, because the agent may not even accept the abort.
                if tokio::time::timeout(GRACE, agent.abort()).await.is_err() {
                    tracing::warn!("{NO_ABORT}");
                }
            }
            () = grace_over => {
                tracing::warn!("{NO_END}");
                translator.end_work(&strong, true);
                given_up = None;
            }
            () = remote.work_accepted.notified() => {
                let _delivery_lock = remote.delivery_lock.lock().await;
                translator.take_work(remote);
            }
            event = agent.next_event() => {
                let _delivery_lock = remote.delivery_lock.lock().await;
                translator.take_work(remote);
                let disconnected = matches!(event, RemoteEvent::Disconnected(_));
                translator.handle_event(&strong, event).await;
                if translator.work.is_none() {
                    given_up = None;
                }
                if disconnected {
                    agent.on_disconnected();
                    return;
                }
            }
        }
    }
}

/// Emits the events of the remote agent.
#[derive(Default)]
struct EventTranslator {
    work: Option<Work>,
    /// Input that started the current work and was not emitted yet.
    pending_input: Vec<AgentMessage>,
    /// `true` if the remote agent reported the pending input before its run.
    input_reported: bool,
    run: Option<RemoteRun>,
    /// `true` if a run was emitted since the remote agent became idle.
    run_emitted: bool,
}

impl EventTranslator {
    /// Adopts newly started work as the current work.
    fn take_work(&mut self, remote: &RemoteState) {
        if let Some((work, input)) = remote.take_accepted_work() {
            self.work = Some(work);
            self.pending_input.extend(input);
        }
    }

    /// Enters a phase of the current work. Without current work, reserves the engine, because the remote agent
    /// started the work itself.
    fn enter_phase(&mut self, shared: &Arc<Shared>, phase: WorkPhase) {
        let mut state = shared.state();
        if let Some(work) = &self.work {
            if state.active_work(work.number()).is_some() {
                state.enter_phase(work.number(), phase);
                return;
            }
            // The run of that work had ended, and more work follows.
            if state.work.is_none() && !work.abort_token().is_cancelled() {
                state.resume_work(work.number(), phase, work.abort_token(), work.ended_token());
                return;
            }
        }
        if state.work.is_none() {
            let working = state.start_work(WorkKind::Prompt, phase);
            let work = Work::new(shared.clone(), working);
            drop(state);
            // The previous work has already ended; dropping it completes its end.
            drop(self.work.replace(work));
        }
    }

    async fn handle_event(&mut self, shared: &Arc<Shared>, event: RemoteEvent) {
        self.wait_for_capacity(shared).await;
        match event {
            RemoteEvent::RunStarted => {
                self.end_run(shared, false);
                self.enter_phase(shared, WorkPhase::Running);
                self.start_run(shared);
                if self.input_reported {
                    self.emit_pending_input(shared);
                }
            }
            RemoteEvent::MessageAdded(message) => self.handle_message(shared, *message),
            RemoteEvent::AnswerUpdated(event) => {
                self.ensure_run(shared);
                if let Some(run) = &mut self.run {
                    run.update_answer(shared, event);
                }
            }
            RemoteEvent::AnswerEnded(answer) => {
                self.ensure_run(shared);
                if let Some(run) = &mut self.run {
                    run.end_answer(shared, *answer);
                }
            }
            RemoteEvent::ToolStarted(call) => {
                self.ensure_run(shared);
                if let Some(run) = &mut self.run {
                    run.tool_started(shared, &call);
                }
            }
            RemoteEvent::ToolUpdated(id, update) => {
                if let Some(run) = &mut self.run {
                    run.tool_updated(shared, &id, &update);
                }
            }
            RemoteEvent::ToolEnded(id, output) => {
                if let Some(run) = &mut self.run {
                    run.tool_ended(shared, &id, output);
                }
            }
            RemoteEvent::RunEnded { will_retry } => {
                self.emit_pending_input(shared);
                self.end_run(shared, will_retry);
            }
            RemoteEvent::RetryStarted { attempt, limit, pause, error } => {
                self.end_run(shared, true);
                self.enter_phase(shared, WorkPhase::RetryPause);
                drop_failed_answer(&mut shared.state());
                shared.sink.push(Event::RetryStarted { attempt, limit, pause, error: &error });
            }
            RemoteEvent::RetryEnded { success, attempt, error } => {
                shared.sink.push(Event::RetryEnded { success, attempt, error: error.as_deref() });
            }
            RemoteEvent::CompactionStarted(reason) => {
                append_reported_input(shared);
                if !is_requested_compaction(shared) {
                    self.enter_phase(shared, WorkPhase::Compacting);
                    shared.sink.push(Event::CompactionStarted { reason: &reason });
                }
            }
            RemoteEvent::CompactionEnded { result, aborted, will_retry, error } => {
                if is_requested_compaction(shared) {
                    return;
                }
                let result = result.map(|made| apply_remote_compaction(&mut shared.state().session, made));
                let (result, error) = (result.as_ref(), error.as_deref());
                shared.sink.push(Event::CompactionEnded { result, aborted, will_retry, error });
            }
            RemoteEvent::Settled { aborted } => {
                self.emit_pending_input(shared);
                self.end_work(shared, aborted);
            }
            RemoteEvent::SessionNamed(name) => {
                let renamed = {
                    let mut state = shared.state();
                    state.session.name() != Some(&name) && state.session.rename(&name).is_ok()
                };
                if renamed {
                    shared.sink.push(Event::SessionNamed { name: &name });
                }
            }
            RemoteEvent::ModelChanged(model) => shared.record_remote_model(*model),
            RemoteEvent::ThinkingChanged(level) => shared.record_remote_thinking(level),
            RemoteEvent::ExtensionFailed { extension, event, error } => {
                shared.sink.push(Event::ExtensionFailed {
                    extension: &extension,
                    event: &event,
                    error: &error,
                });
            }
            RemoteEvent::Disconnected(reason) => {
                self.emit_pending_input(shared);
                if let Some(run) = &mut self.run {
                    run.fail(shared, &reason);
                }
                append_reported_input(shared);
                if let Some(remote) = &shared.remote {
                    remote.set_disconnected(reason);
                }
                self.end_work(shared, false);
            }
        }
    }

    /// Waits until the receiver can take more events. An abort ends the wait.
    async fn wait_for_capacity(&self, shared: &Shared) {
        let aborted = self.work.as_ref().map(Work::abort_token).unwrap_or_default();
        tokio::select! {
            biased;
            () = aborted.cancelled() => {}
            () = shared.sink.wait_for_capacity() => {}
        }
    }

    fn start_run(&mut self, shared: &Arc<Shared>) {
        if let Some(remote) = &shared.remote {
            remote.set_run_active(true);
        }
        self.run_emitted = true;
        let run = self.run.insert(RemoteRun::start(shared));
        for message in shared.remote.iter().flat_map(RemoteState::take_reported_input) {
            run.add_message(shared, message);
        }
    }

    /// Starts a run if no run is in progress, and emits the input that started it.
    fn ensure_run(&mut self, shared: &Arc<Shared>) {
        if self.run.is_none() {
            self.enter_phase(shared, WorkPhase::Running);
            self.start_run(shared);
        }
        self.emit_pending_input(shared);
    }

    /// Emits the input that started the run, if the remote agent did not report it.
    fn emit_pending_input(&mut self, shared: &Arc<Shared>) {
        let Some(run) = &mut self.run else { return };
        self.input_reported = false;
        for message in std::mem::take(&mut self.pending_input) {
            run.add_message(shared, message);
        }
    }

    /// Handles a message that the remote agent reports.
    fn handle_message(&mut self, shared: &Arc<Shared>, message: AgentMessage) {
        let is_users = matches!(message, AgentMessage::User(_));
        let Some(run) = &mut self.run else {
            // Input that starts a run is emitted with the run.
            self.input_reported = is_users && !self.pending_input.is_empty();
            match is_users {
                true if !self.input_reported => {
                    let message = take_queued_original(shared, message);
                    if let Some(remote) = &shared.remote {
                        remote.hold_reported_input(message);
                    }
                }
                true => {}
                false => {
                    append_reported_input(shared);
                    append_message(shared, message);
                }
            }
            return;
        };
        if is_users && !self.pending_input.is_empty() {
            // The original input has content that the remote agent may not repeat, such as images.
            let original = self.pending_input.remove(0);
            run.add_message(
                shared,
                if crate::engine::input_queues::text(&original) == crate::engine::input_queues::text(&message)
                {
                    original
                } else {
                    message
                },
            );
            return;
        }
        if !is_users {
            return run.add_message(shared, message);
        }
        run.add_message(shared, take_queued_original(shared, message));
    }

    /// Ends the run. Any further work is separate: when the end is emitted, the engine is idle or waits for a
    /// retry.
    fn end_run(&mut self, shared: &Arc<Shared>, will_retry: bool) {
        let Some(run) = self.run.take() else { return };
        let aborted = self.work.as_ref().is_some_and(|work| work.abort_token().is_cancelled());
        let messages = run.close(shared, aborted);
        if let Some(remote) = &shared.remote {
            remote.set_run_active(false);
        }
        let mut state = shared.state();
        match &self.work {
            Some(work) if will_retry => state.enter_phase(work.number(), WorkPhase::RetryPause),
            Some(work) => state.end_work(work.number()),
            None => {}
        }
        shared.sink.push(Event::RunEnded { messages: &messages, will_retry });
    }

    /// Ends the work.
    fn end_work(&mut self, shared: &Arc<Shared>, aborted: bool) {
        self.end_run(shared, false);
        self.pending_input.clear();
        self.input_reported = false;
        if let Some(work) = &self.work {
            shared.state().end_work(work.number());
        }
        if std::mem::take(&mut self.run_emitted) {
            shared.sink.push(Event::Settled { aborted });
        }
        drop(self.work.take());
    }
}

/// Returns `true` if a client requested the current compaction. That client receives the result as a response, not
/// by events.
fn is_requested_compaction(shared: &Shared) -> bool {
    shared.state().work.as_ref().is_some_and(|work| work.kind == WorkKind::Compaction)
}

/// Returns the queued message to which a reported message corresponds. The queued message is complete, but
/// the report may omit a part. Without such a queued message, returns the reported one.
fn take_queued_original(shared: &Shared, message: AgentMessage) -> AgentMessage {
    let mut state = shared.state();
    let waited = state.queues.take_matching(&message);
    shared.emit_queue_changes(&mut state);
    waited.unwrap_or(message)
}

/// Adds the reported messages to the conversation, because they started no run.
pub(in crate::engine) fn append_reported_input(shared: &Shared) {
    for message in shared.remote.iter().flat_map(RemoteState::take_reported_input) {
        append_message(shared, message);
    }
}

/// Adds a message to the conversation of an idle engine.
fn append_message(shared: &Shared, message: AgentMessage) {
    let message = Arc::new(message);
    let entry = {
        let mut state = shared.state();
        let entry = state.session.reserve_id();
        state.session.append_as(entry.clone(), message.clone());
        entry
    };
    if shared.options.profile.extensions.emits_idle_messages {
        shared.sink.push(Event::MessageStarted { entry: &entry, message: &message });
        shared.sink.push(Event::MessageEnded { entry: &entry, message: &message });
    }
}
