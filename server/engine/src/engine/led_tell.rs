//! What another agent does, as it is told and kept here: by one task, in the order of its deeds.

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

/// What is said of a run that did not end after an abort.
const NO_END: &str = "The agent did not end its run after an abort.";

impl Engine {
    /// Where another agent does the work: from now on what it does is told, and what it asks goes to `ui`. Needs a runtime; only the first call counts.
    pub fn follow(&self, ui: Arc<dyn Ui>) {
        let Some(led) = &self.shared.led else { return };
        let mut task = led.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.is_none() {
            led.lead.connect(ui);
            *task = Some(tokio::spawn(tell(Arc::downgrade(&self.shared), led.lead.clone())).abort_handle());
        }
    }
}

/// Tells what the other agent does, until the engine is gone.
async fn tell(shared: Weak<Shared>, lead: Arc<dyn Lead>) {
    let mut teller = Teller::default();
    // When a run that was aborted is given up.
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
                // An agent that does not even take the command is not waited for.
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

/// Tells the deeds of the other agent.
#[derive(Default)]
struct Teller {
    work: Option<Work>,
    /// The words that began it and were not told yet.
    said: Vec<AgentMessage>,
    /// The agent has told of them before its run.
    heard: bool,
    run: Option<LedRun>,
    /// A run was told of since the agent rested.
    told: bool,
}

impl Teller {
    /// Work that was begun is what is going on from now on.
    fn take_work(&mut self, led: &Led) {
        if let Some((work, said)) = led.take_begun() {
            self.work = Some(work);
            self.said.extend(said);
        }
    }

    /// Something is going on: where nobody asked for it, the engine is reserved for it.
    fn go_on(&mut self, shared: &Arc<Shared>, phase: Phase) {
        let mut state = shared.state();
        if let Some(work) = &self.work {
            if state.working(work.number()).is_some() {
                state.enter(work.number(), phase);
                return;
            }
            // Its run was over, and something follows after all.
            if state.work.is_none() && !work.aborted().is_cancelled() {
                state.again(work.number(), phase, work.aborted(), work.ended());
                return;
            }
        }
        if state.work.is_none() {
            let working = state.begin(Kind::Prompt, phase);
            let work = Work::new(shared.clone(), working);
            drop(state);
            // Work that was over in all but name ends here.
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

    /// Waits until events are wanted; an abort ends the waiting.
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

    /// The run that a deed belongs to, with the words that began it told.
    fn run_with_words(&mut self, shared: &Arc<Shared>) {
        if self.run.is_none() {
            self.go_on(shared, Phase::Running);
            self.begin_run(shared);
        }
        self.told_words(shared);
    }

    /// Tells the words that began the run, where the other agent does not.
    fn told_words(&mut self, shared: &Arc<Shared>) {
        let Some(run) = &mut self.run else { return };
        self.heard = false;
        for message in std::mem::take(&mut self.said) {
            run.said(shared, message);
        }
    }

    /// A message that the other agent tells of.
    fn said(&mut self, shared: &Arc<Shared>, message: AgentMessage) {
        let is_users = matches!(message, AgentMessage::User(_));
        let Some(run) = &mut self.run else {
            // Words that begin a run are told with it.
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
            // The words as they were said have what the other agent may not repeat, such as images.
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

    /// The run is over. What follows it begins anew: who hears of the end finds the engine idle, or waiting.
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

    /// Nothing follows any more.
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

/// Whether somebody here asked for the compaction that is going on, and is told of it in another way.
fn is_asked_for(shared: &Shared) -> bool {
    shared.state().work.as_ref().is_some_and(|work| work.kind == Kind::Compaction)
}

/// Words of the user that the other agent has read, as they were said: it may not repeat all that they have.
fn waited(shared: &Shared, message: AgentMessage) -> AgentMessage {
    let mut state = shared.state();
    let waited = state.queues.take_like(&message);
    shared.tell_of_queues(&mut state);
    waited.unwrap_or(message)
}

/// No run follows of the words that the agent told of: they stand in the conversation without one.
pub(super) fn note_begins(shared: &Shared) {
    for message in shared.led.iter().flat_map(Led::take_begins) {
        note(shared, message);
    }
}

/// A message that was put into an idle conversation.
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
