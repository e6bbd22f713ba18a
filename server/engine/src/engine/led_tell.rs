//! The events of a remote agent, emitted and stored by one task, in their order.

use std::sync::{Arc, PoisonError, Weak};

use agentese::types::AgentMessage;

use super::branch::keep_compaction;
use super::led::{GRACE, NO_ABORT};
use super::led_run::LedRun;
use super::shared::{Led, Work};
use super::state::{Kind, Phase};
use super::work::forget_failed_answer;
use super::{Deed, Engine, Event, Lead, Shared};
use crate::ui::Ui;

/// Log message about a run that did not end after an abort.
const NO_END: &str = "The agent did not end its run after an abort.";

impl Engine {
    /// Starts emitting the events of the remote agent, if there is one, and forwards its questions to `ui`. Needs a
    /// runtime. Only the first call has an effect.
    pub fn follow(&self, ui: Arc<dyn Ui>) {
        let Some(led) = &self.shared.led else { return };
        let mut task = led.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            led.lead.connect(ui);
            *task = Some(tokio::spawn(tell(Arc::downgrade(&self.shared), led.lead.clone())).abort_handle());
        }
    }
}

/// Emits the events of the remote agent until the engine is dropped.
async fn tell(shared: Weak<Shared>, lead: Arc<dyn Lead>) {
    let mut teller = Teller::default();
    // Time at which an aborted run is given up.
    let mut given_up = None;
    loop {
        let Some(strong) = shared.upgrade() else { return };
        let Some(led) = &strong.led else { return };
        let abort = teller.work.as_ref().map(Work::aborted);
        let aborted = async {
            match (&abort, given_up) {
                (Some(abort), None) => abort.cancelled().await,
                _ => std::future::pending().await,
            }
        };
        let late = async {
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
                if tokio::time::timeout(GRACE, lead.abort()).await.is_err() {
                    tracing::warn!("{NO_ABORT}");
                }
            }
            () = late => {
                tracing::warn!("{NO_END}");
                teller.rest(&strong, true);
                given_up = None;
            }
            () = led.changed.notified() => {
                let _floor = led.floor.lock().await;
                teller.take_work(led);
            }
            deed = lead.next() => {
                let _floor = led.floor.lock().await;
                teller.take_work(led);
                let gone = matches!(deed, Deed::Gone(_));
                teller.deed(&strong, deed).await;
                if teller.work.is_none() {
                    given_up = None;
                }
                if gone {
                    lead.parted();
                    return;
                }
            }
        }
    }
}

/// Emits the events of the remote agent.
#[derive(Default)]
struct Teller {
    work: Option<Work>,
    /// Input that started the work and has not been emitted yet.
    said: Vec<AgentMessage>,
    /// `true` if the remote agent reported that input before its run.
    heard: bool,
    run: Option<LedRun>,
    /// `true` if a run was emitted since the remote agent became idle.
    told: bool,
}

impl Teller {
    /// Adopts newly started work as the current work.
    fn take_work(&mut self, led: &Led) {
        if let Some((work, said)) = led.take_begun() {
            self.work = Some(work);
            self.said.extend(said);
        }
    }

    /// Enters a phase of the current work. If no prompt started it, reserves the engine for it.
    fn go_on(&mut self, shared: &Arc<Shared>, phase: Phase) {
        let mut state = shared.state();
        if let Some(work) = &self.work {
            if state.working(work.number()).is_some() {
                state.enter(work.number(), phase);
                return;
            }
            // The run of that work had ended, and more work follows.
            if state.work.is_none() && !work.aborted().is_cancelled() {
                state.again(work.number(), phase, work.aborted(), work.ended());
                return;
            }
        }
        if state.work.is_none() {
            let working = state.begin(Kind::Prompt, phase);
            let work = Work::new(shared.clone(), working);
            drop(state);
            // The previous work has already ended; dropping it completes its end.
            drop(self.work.replace(work));
        }
    }

    async fn deed(&mut self, shared: &Arc<Shared>, deed: Deed) {
        self.room(shared).await;
        match deed {
            Deed::RunBegan => {
                self.end_run(shared, false);
                self.go_on(shared, Phase::Running);
                self.begin_run(shared);
                if self.heard {
                    self.told_words(shared);
                }
            }
            Deed::Said(message) => self.said(shared, *message),
            Deed::Grew(event) => {
                self.run_with_words(shared);
                if let Some(run) = &mut self.run {
                    run.grew(shared, event);
                }
            }
            Deed::Answered(answer) => {
                self.run_with_words(shared);
                if let Some(run) = &mut self.run {
                    run.answered(shared, *answer);
                }
            }
            Deed::ToolBegan(call) => {
                self.run_with_words(shared);
                if let Some(run) = &mut self.run {
                    run.tool_began(shared, &call);
                }
            }
            Deed::ToolShowed(id, update) => {
                if let Some(run) = &mut self.run {
                    run.tool_showed(shared, &id, &update);
                }
            }
            Deed::ToolEnded(id, output) => {
                if let Some(run) = &mut self.run {
                    run.tool_ended(shared, &id, output);
                }
            }
            Deed::RunOver { will_retry } => {
                self.told_words(shared);
                self.end_run(shared, will_retry);
            }
            Deed::RetryBegan { attempt, limit, pause, error } => {
                self.end_run(shared, true);
                self.go_on(shared, Phase::Waiting);
                forget_failed_answer(&mut shared.state());
                shared.sink.push(Event::RetryStarted { attempt, limit, pause, error: &error });
            }
            Deed::RetryOver { success, attempt, error } => {
                shared.sink.push(Event::RetryEnded { success, attempt, error: error.as_deref() });
            }
            Deed::CompactionBegan(reason) => {
                note_begins(shared);
                if !is_asked_for(shared) {
                    self.go_on(shared, Phase::Compacting);
                    shared.sink.push(Event::CompactionStarted { reason: &reason });
                }
            }
            Deed::CompactionOver { result, aborted, will_retry, error } => {
                if is_asked_for(shared) {
                    return;
                }
                let result = result.map(|made| keep_compaction(&mut shared.state().session, made));
                let (result, error) = (result.as_ref(), error.as_deref());
                shared.sink.push(Event::CompactionEnded { result, aborted, will_retry, error });
            }
            Deed::Rested { aborted } => {
                self.told_words(shared);
                self.rest(shared, aborted);
            }
            Deed::Named(name) => {
                let renamed = {
                    let mut state = shared.state();
                    state.session.name() != Some(&name) && state.session.rename(&name).is_ok()
                };
                if renamed {
                    shared.sink.push(Event::SessionNamed { name: &name });
                }
            }
            Deed::Asks(model) => shared.told_model(*model),
            Deed::Thinks(level) => shared.told_thinking(level),
            Deed::Failed { who, doing, error } => {
                shared.sink.push(Event::ExtensionFailed { extension: &who, event: &doing, error: &error });
            }
            Deed::Gone(reason) => {
                self.told_words(shared);
                if let Some(run) = &mut self.run {
                    run.fail(shared, &reason);
                }
                note_begins(shared);
                if let Some(led) = &shared.led {
                    led.lose(reason);
                }
                self.rest(shared, false);
            }
        }
    }

    /// Waits until events are wanted; an abort ends the wait.
    async fn room(&self, shared: &Shared) {
        let aborted = self.work.as_ref().map(Work::aborted).unwrap_or_default();
        tokio::select! {
            biased;
            () = aborted.cancelled() => {}
            () = shared.sink.room() => {}
        }
    }

    fn begin_run(&mut self, shared: &Arc<Shared>) {
        if let Some(led) = &shared.led {
            led.turn(true);
        }
        self.told = true;
        let run = self.run.insert(LedRun::begin(shared));
        for message in shared.led.iter().flat_map(Led::take_begins) {
            run.said(shared, message);
        }
    }

    /// Makes sure that there is a run for an event, and emits the input that started it.
    fn run_with_words(&mut self, shared: &Arc<Shared>) {
        if self.run.is_none() {
            self.go_on(shared, Phase::Running);
            self.begin_run(shared);
        }
        self.told_words(shared);
    }

    /// Emits the input that started the run, if the remote agent did not report it.
    fn told_words(&mut self, shared: &Arc<Shared>) {
        let Some(run) = &mut self.run else { return };
        self.heard = false;
        for message in std::mem::take(&mut self.said) {
            run.said(shared, message);
        }
    }

    /// Handles a message that the remote agent reports.
    fn said(&mut self, shared: &Arc<Shared>, message: AgentMessage) {
        let is_users = matches!(message, AgentMessage::User(_));
        let Some(run) = &mut self.run else {
            // Input that starts a run is emitted with the run.
            self.heard = is_users && !self.said.is_empty();
            match is_users {
                true if !self.heard => {
                    let message = waited(shared, message);
                    if let Some(led) = &shared.led {
                        led.begins_with(message);
                    }
                }
                true => {}
                false => {
                    note_begins(shared);
                    note(shared, message);
                }
            }
            return;
        };
        if is_users && !self.said.is_empty() {
            // The original input has content that the remote agent may not repeat, such as images.
            let said = self.said.remove(0);
            run.said(
                shared,
                if super::queue::text(&said) == super::queue::text(&message) { said } else { message },
            );
            return;
        }
        if !is_users {
            return run.said(shared, message);
        }
        run.said(shared, waited(shared, message));
    }

    /// Ends the run. Later work starts separately: when the end is emitted, the engine is idle or waits for a retry.
    fn end_run(&mut self, shared: &Arc<Shared>, will_retry: bool) {
        let Some(run) = self.run.take() else { return };
        let aborted = self.work.as_ref().is_some_and(|work| work.aborted().is_cancelled());
        let messages = run.close(shared, aborted);
        if let Some(led) = &shared.led {
            led.turn(false);
        }
        let mut state = shared.state();
        match &self.work {
            Some(work) if will_retry => state.enter(work.number(), Phase::Waiting),
            Some(work) => state.end(work.number()),
            None => {}
        }
        shared.sink.push(Event::RunEnded { messages: &messages, will_retry });
    }

    /// Ends the work.
    fn rest(&mut self, shared: &Arc<Shared>, aborted: bool) {
        self.end_run(shared, false);
        self.said.clear();
        self.heard = false;
        if let Some(work) = &self.work {
            shared.state().end(work.number());
        }
        if std::mem::take(&mut self.told) {
            shared.sink.push(Event::Settled { aborted });
        }
        drop(self.work.take());
    }
}

/// Returns `true` if the current compaction was requested by a client, which receives its result in another way.
fn is_asked_for(shared: &Shared) -> bool {
    shared.state().work.as_ref().is_some_and(|work| work.kind == Kind::Compaction)
}

/// Returns the original of a queued message that the remote agent has read: the report may omit a part of it.
fn waited(shared: &Shared, message: AgentMessage) -> AgentMessage {
    let mut state = shared.state();
    let waited = state.queues.take_like(&message);
    shared.tell_of_queues(&mut state);
    waited.unwrap_or(message)
}

/// Adds reported messages that started no run to the conversation.
pub(super) fn note_begins(shared: &Shared) {
    for message in shared.led.iter().flat_map(Led::take_begins) {
        note(shared, message);
    }
}

/// Adds a message to an idle conversation.
fn note(shared: &Shared, message: AgentMessage) {
    let message = Arc::new(message);
    let entry = {
        let mut state = shared.state();
        let entry = state.session.reserve();
        state.session.append_as(entry.clone(), message.clone());
        entry
    };
    if shared.options.customs.tells_of_notes {
        shared.sink.push(Event::MessageStarted { entry: &entry, message: &message });
        shared.sink.push(Event::MessageEnded { entry: &entry, message: &message });
    }
}
