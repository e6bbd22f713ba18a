//! Work that another agent does: words are handed over to it, and what it does is told and kept here.
//!
//! Its deeds are told by one task, in their order. Whoever hands words over holds the floor until the client was told
//! that they were taken: nothing that they cause is told before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use agentese::types::{AgentMessage, CompactionResult};
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio::task::AbortHandle;

use super::led_run::LedRun;
use super::state::{Kind, Phase};
use super::work::Work;
use super::{Compacted, Deed, Engine, Event, Input, Lead, Manner, PromptError, Shared, StreamingBehavior};
use crate::session::Session;
use crate::ui::Ui;

/// How long the other agent may take to end a run that was aborted.
const GRACE: Duration = Duration::from_secs(4);

/// What is said of an agent that does not even take an abort.
const NO_ABORT: &str = "The agent did not take an abort.";

/// What is said of a run that did not end after an abort.
const NO_END: &str = "The agent did not end its run after an abort.";

/// The other agent, and what is going on with it.
pub(super) struct Led {
    pub lead: Arc<dyn Lead>,
    /// Held while words are handed over.
    floor: Arc<tokio::sync::Mutex<()>>,
    /// The work of words that were taken, until the task looks.
    begun: Mutex<Option<(Work, Vec<AgentMessage>)>>,
    changed: Notify,
    /// A run is told of. What was begun and is no run does not keep others out: the other agent decides.
    on: AtomicBool,
    task: Mutex<Option<AbortHandle>>,
    /// Why there is nobody any more.
    gone: Mutex<Option<String>>,
}

/// The floor, held until the client was told.
#[derive(Default)]
pub struct Handed {
    _floor: Option<OwnedMutexGuard<()>>,
}

impl std::fmt::Debug for Handed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Handed").finish_non_exhaustive()
    }
}

impl Led {
    pub fn new(lead: Arc<dyn Lead>) -> Self {
        Self {
            lead,
            floor: Arc::default(),
            begun: Mutex::default(),
            changed: Notify::new(),
            on: AtomicBool::new(false),
            task: Mutex::default(),
            gone: Mutex::default(),
        }
    }

    /// Whether a run is told of.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    fn begun(&self) -> MutexGuard<'_, Option<(Work, Vec<AgentMessage>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self) -> Option<String> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Words were taken, and the client was told: what comes of them belongs to that work.
    pub fn begin(&self, work: Work, messages: Vec<AgentMessage>) {
        // What it ends looks at the state: not under the lock.
        let before = self.begun().replace((work, messages));
        drop(before);
        self.changed.notify_one();
    }

    /// Words that are on their way are stopped there.
    pub async fn abort_what_is_handed_over(&self) {
        if self.floor.try_lock().is_err() && tokio::time::timeout(GRACE, self.lead.abort()).await.is_err() {
            tracing::warn!("{NO_ABORT}");
        }
    }

    /// Stops telling.
    pub fn stop(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

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

    /// Whether another agent does the work of this one.
    pub fn is_led(&self) -> bool {
        self.shared.led.is_some()
    }

    /// Where another agent does the work: hands words over as a prompt. They are taken when this returns, and
    /// [`Begun::holding`] lets what follows be told. Refused where they would not be taken here, and by the other agent.
    pub async fn hand_over(
        &self,
        input: &Input,
        streaming: Option<StreamingBehavior>,
    ) -> Result<Handed, PromptError> {
        let waits = || self.shared.admits(&self.shared.state(), streaming).map(|queue| queue.is_some());
        if self.is_led() {
            waits()?;
        }
        self.hand(input, Manner::Prompt(streaming), waits).await
    }

    /// The same for a prompt for which the engine is reserved.
    pub async fn hand_to_seat(&self, input: &Input) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Prompt(None), || Ok(false)).await
    }

    /// The same for words that are put into a queue.
    pub async fn hand_to_queue(
        &self,
        input: &Input,
        queue: StreamingBehavior,
    ) -> Result<Handed, PromptError> {
        self.hand(input, Manner::Queue(queue), || Ok(true)).await
    }

    /// `waits` says whether they will wait in a queue here: there must be room before the other agent takes them.
    async fn hand(
        &self,
        input: &Input,
        manner: Manner,
        waits: impl FnOnce() -> Result<bool, PromptError>,
    ) -> Result<Handed, PromptError> {
        let Some(led) = &self.shared.led else { return Ok(Handed::default()) };
        if let Some(reason) = led.gone() {
            return Err(PromptError::Led(reason));
        }
        let floor = led.floor.clone().lock_owned().await;
        if waits()? {
            self.shared.has_room(input)?;
        }
        led.lead.say(&input.text, &input.images, manner).await.map_err(PromptError::Led)?;
        Ok(Handed { _floor: Some(floor) })
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
    run: Option<LedRun>,
    /// A run was told of since the agent rested.
    told: bool,
}

impl Teller {
    /// Work that was begun is what is going on from now on.
    fn take_work(&mut self, led: &Led) {
        let begun = led.begun().take();
        if let Some((work, said)) = begun {
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
                    run.tool_began(shared, call);
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
                super::work::forget_failed_answer(&mut shared.state());
                shared.sink.push(Event::RetryStarted { attempt, limit, pause, error: &error });
            }
            Deed::RetryOver { success, attempt, error } => {
                shared.sink.push(Event::RetryEnded { success, attempt, error: error.as_deref() });
            }
            Deed::CompactionBegan(reason) => {
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
                if let Some(led) = &shared.led {
                    *led.gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
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
            led.on.store(true, Ordering::Release);
        }
        self.told = true;
        self.run = Some(LedRun::begin(shared));
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
        for message in std::mem::take(&mut self.said) {
            run.said(shared, message);
        }
    }

    /// A message that the other agent tells of.
    fn said(&mut self, shared: &Arc<Shared>, message: AgentMessage) {
        let is_users = matches!(message, AgentMessage::User(_));
        let Some(run) = &mut self.run else {
            // Words that begin a run are told with it.
            if !is_users || self.said.is_empty() {
                note(shared, message);
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
        let waited = {
            let mut state = shared.state();
            let waited = state.queues.take_like(&message);
            shared.tell_of_queues(&mut state);
            waited
        };
        run.said(shared, waited.unwrap_or(message));
    }

    /// The run is over. What follows it begins anew: who hears of the end finds the engine idle, or waiting.
    fn end_run(&mut self, shared: &Arc<Shared>, will_retry: bool) {
        let Some(run) = self.run.take() else { return };
        let aborted = self.work.as_ref().is_some_and(|work| work.aborted().is_cancelled());
        let messages = run.close(shared, aborted);
        if let Some(led) = &shared.led {
            led.on.store(false, Ordering::Release);
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

/// Puts a summary in place here; what is told of it names an entry of this session.
pub(super) fn keep_compaction(session: &mut Session, made: Compacted) -> CompactionResult {
    let mut result = made.result;
    let spoken = session.conversation();
    // An id of the other agent's is on no branch here, and keeps nothing.
    if let Some(first) = spoken.len().checked_sub(made.kept).and_then(|at| spoken.get(at)) {
        result.first_kept_entry_id = first.entry.to_string();
    }
    super::branch::compacted(session, &result, false);
    result
}
