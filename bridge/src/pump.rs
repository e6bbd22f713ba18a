//! Events of the agent on their way to the engine: events become deeds, in order, and the ends of runs are
//! detected.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agentese::Error;
use agentese::any::{Agent, Events, Intent, Run, Words};
use agentese::types::CompactionResult;
use agentese::view::{Conversation, Notice, Role};
use agentese_server_engine::engine::{Compacted, Deed, StreamingBehavior};
use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use super::control::Word;
use super::convert;
use super::deeds::{Deeds, Step};
use super::late::{Late, may_call};
use super::moves::{News, Stage};
use super::person::Person;
use super::queue;

/// Input for which the agent has no queue, in order, with its intended queue.
pub(super) type Held = Arc<Mutex<VecDeque<(StreamingBehavior, Words)>>>;

/// The state of held input that continues the ended run.
#[derive(Default)]
pub(super) enum Joining {
    #[default]
    None,
    /// The input has not been reported as part of the conversation.
    Untold(String),
    Told,
}

/// Converts the events of the agent to deeds.
pub(super) struct Pump {
    pub agent: Agent,
    pub events: Events,
    pub person: Person,
    pub deeds: Deeds,
    pub late: Late,
    /// `true` if calls were released for a question of the agent, which waits for them.
    pub asks: bool,
    pub told: queue::Sender,
    /// `true` after the unreported end of a run: the response to its prompt is missing, or held input continues it.
    pub unanswered: bool,
    /// `true` if work has ended and the engine has not been notified that the agent rests.
    pub owes_rest: bool,
    /// The input that continues that run.
    pub joining: Joining,
    /// The input that was reported here, and that the agent may report as well.
    pub said: Option<String>,
    /// The number of settings in progress.
    pub unset: Arc<AtomicUsize>,
    /// The session's name and the thinking level from the agent during these changes. They may be outdated,
    /// so only the last ones apply.
    pub named: Option<Deed>,
    pub thinks: Option<Deed>,
    pub open: Arc<AtomicUsize>,
    pub held: Held,
    pub words: UnboundedSender<Word>,
    /// `true` if the run was stopped.
    pub stopped: Arc<AtomicBool>,
    pub news: News,
    pub gone: Arc<Mutex<Option<String>>>,
}

impl Pump {
    pub async fn run(mut self, mut words: UnboundedReceiver<Word>) {
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(Ok(event)) => self.event(event),
                    Some(Err(error)) => return self.end(&error),
                    None => return,
                },
                () = self.late.due() => {
                    let now = self.agent.conversation();
                    self.late.begun().into_iter().for_each(|step| self.step(step, &now));
                }
                word = words.recv() => {
                    // Events from before the message come first.
                    while let Some(Some(event)) = self.events.next().now_or_never() {
                        match event {
                            Ok(event) => self.event(event),
                            Err(error) => return self.end(&error),
                        }
                    }
                    if word.as_ref().is_none_or(Word::ends_calls) {
                        self.no_more_calls();
                    }
                    match word {
                        Some(Word::Over(refused)) => self.over(refused),
                        Some(Word::Refused) => self.closed(),
                        Some(Word::Set) => self.set(),
                        Some(Word::Moved) => self.news.moves.enter(Stage::Moved),
                        Some(Word::PassOver(done)) => {
                            self.deeds.pass_over(&self.agent.conversation());
                            let _ = done.send(());
                        }
                        Some(Word::Arrived(done)) => {
                            self.arrived();
                            let _ = done.send(());
                        }
                        Some(Word::Asks(done)) if std::mem::take(&mut self.asks) => self.told.mark(done),
                        Some(Word::Asks(done)) => drop(done.send(())),
                        None => return,
                    }
                }
            }
        }
    }

    fn event(&mut self, event: agentese::any::Event) {
        let now = self.agent.conversation();
        let over = matches!(event, agentese::any::Event::State { .. }) && self.deeds.working();
        let may_call = may_call(&event);
        // A tool causes the question, or starts after it: the client must see its call first.
        if matches!(event, agentese::any::Event::Asked { .. }) {
            let asked = self.late.asked();
            self.asks |= !asked.is_empty();
            asked.into_iter().for_each(|step| self.step(step, &now));
        }
        let steps = self.deeds.take(event, &now);
        for step in self.late.pass(steps, may_call) {
            self.step(step, &now);
        }
        // Work that was not requested here has no other end.
        if over && !self.deeds.working() && self.open.load(Ordering::Acquire) == 0 {
            self.rest();
        }
    }

    fn arrived(&mut self) {
        let now = self.agent.conversation();
        self.deeds.pass_over(&now);
        for deed in self.news.arrived() {
            self.step(Step::Deed(deed), &now);
        }
    }

    /// Releases the held answer without waiting for further calls.
    fn no_more_calls(&mut self) {
        let now = self.agent.conversation();
        for step in self.late.rest() {
            self.step(step, &now);
        }
    }

    fn step(&mut self, step: Step, now: &Conversation) {
        let step = match step {
            Step::Deed(deed) => match self.news.pass(deed) {
                Some(deed) => Step::Deed(deed),
                None => return,
            },
            step => step,
        };
        match step {
            // The response to the prompt decides if further work follows.
            Step::Deed(deed @ Deed::RunOver { .. }) => {
                self.said = None;
                self.owes_rest = true;
                let waits = self.agent.spec().run_end.answer_ends || self.has_held();
                self.unanswered = waits && self.open.load(Ordering::Acquire) > 0;
                if !self.unanswered {
                    self.tell(deed);
                }
            }
            Step::Deed(Deed::RunBegan) if self.unanswered => {
                self.unanswered = false;
                match std::mem::take(&mut self.joining) {
                    Joining::Untold(words) => {
                        self.said = Some(words.clone());
                        self.tell(Deed::Said(Box::new(convert::user(words))));
                    }
                    Joining::Told => {}
                    Joining::None => {
                        self.tell(Deed::RunOver { will_retry: true });
                        self.tell(Deed::RunBegan);
                    }
                }
            }
            Step::Deed(Deed::Said(said)) if self.said.is_some() && convert::words_of(&said) == self.said => {
                self.said = None;
            }
            // The agent itself reports the input.
            Step::Deed(Deed::Said(said)) if matches!(self.joining, Joining::Untold(_)) => {
                self.joining = Joining::Told;
                self.tell(Deed::Said(said));
            }
            Step::Deed(deed @ Deed::Named(_)) if self.sets() => self.named = Some(deed),
            Step::Deed(deed @ Deed::Thinks(_)) if self.sets() => self.thinks = Some(deed),
            Step::Deed(deed) => self.tell(deed),
            Step::Compacted { summary, error, aborted } => {
                let over = move |result| Deed::CompactionOver { result, aborted, will_retry: false, error };
                let Some((summary, before)) = summary else { return self.tell(over(None)) };
                let (agent, words) = (self.agent.clone(), self.words.clone());
                self.told.ask(async move {
                    let kept = kept(&agent).await;
                    settled(&words).await;
                    over(Some(Compacted { result: CompactionResult::new(summary, "", before), kept }))
                });
            }
            Step::Notice(notice) => self.notice(notice),
            Step::Panels => self.person.panels(now),
        }
    }

    fn notice(&self, notice: Notice) {
        match notice.source {
            Some(source) if is_refusal(&self.agent, &source) => {}
            Some(who) if notice.level == "error" => {
                self.tell(Deed::Failed { who, doing: String::new(), error: notice.text });
            }
            _ => self.person.notice(&notice),
        }
    }

    fn over(&mut self, refused: Option<String>) {
        if let Some(error) = refused.filter(|_| self.deeds.working()) {
            self.deeds.failed(error).into_iter().for_each(|step| {
                if let Step::Deed(deed) = step {
                    self.tell(deed);
                }
            });
        }
        self.owes_rest = true;
        self.closed();
    }

    /// Closes a prompt. After the last one, the agent rests if that has not been reported or if input is
    /// held.
    fn closed(&mut self) {
        let open = self.open.fetch_sub(1, Ordering::AcqRel) - 1;
        let goes_on = self.has_held() && !self.stopped.load(Ordering::Acquire);
        if open == 0 && !self.deeds.working() && (self.owes_rest || goes_on) {
            self.rest();
        }
    }

    /// Returns `true` if settings are in progress.
    fn sets(&self) -> bool {
        self.unset.load(Ordering::Acquire) > 0
    }

    /// Ends the change of a setting. After the last one, the agent's reported values apply.
    fn set(&mut self) {
        if self.unset.fetch_sub(1, Ordering::AcqRel) == 1 {
            let last = [self.named.take(), self.thinks.take()];
            last.into_iter().flatten().for_each(|deed| self.tell(deed));
        }
    }

    fn has_held(&self) -> bool {
        !self.held.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Sends held input when the agent has no work, or reports that the agent rests.
    fn rest(&mut self) {
        let held = match self.stopped.swap(false, Ordering::AcqRel) {
            // Held input waits for the next prompt.
            true => None,
            false => self.held.lock().unwrap_or_else(PoisonError::into_inner).pop_front(),
        };
        let Some((_, words)) = held else {
            self.joining = Joining::None;
            if std::mem::take(&mut self.unanswered) {
                self.tell(Deed::RunOver { will_retry: false });
            }
            self.owes_rest = false;
            return self.tell(Deed::Rested { aborted: false });
        };
        if self.unanswered {
            self.joining = Joining::Untold(words.text.clone());
        }
        self.open.fetch_add(1, Ordering::AcqRel);
        let (agent, over, person) = (self.agent.clone(), self.words.clone(), self.person.clone());
        tokio::spawn(async move {
            if let Err(error) = begin(&agent, words, &over).await {
                person.tell(&reason(&error), "error");
                let _ = over.send(Word::Over(None));
            }
        });
    }

    fn end(&mut self, error: &Error) {
        self.no_more_calls();
        let reason = reason(error);
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
        self.tell(Deed::Gone(reason));
    }

    fn tell(&self, deed: Deed) {
        self.told.tell(deed);
    }
}

/// Returns `true` if a notice is about a rejected command: the sender of the command has the rejection.
pub(super) fn is_refusal(agent: &Agent, source: &str) -> bool {
    let spec = agent.spec();
    spec.command(source).is_some() || spec.edges.parse_command == source
}

/// Marks the messages so far as reported in another way.
pub(super) async fn settled(words: &UnboundedSender<Word>) {
    heard(words, Word::PassOver).await;
}

/// Works like [`settled`], at the end of a switch to another conversation.
pub(super) async fn arrived(words: &UnboundedSender<Word>) {
    heard(words, Word::Arrived).await;
}

async fn heard(words: &UnboundedSender<Word>, word: fn(oneshot::Sender<()>) -> Word) {
    let (done, over) = oneshot::channel();
    if words.send(word(done)).is_ok() {
        let _ = over.await;
    }
}

/// Returns the number of messages after the summary of a compaction.
pub(super) async fn kept(agent: &Agent) -> usize {
    if !agent.can(Intent::Messages) {
        return 0;
    }
    let messages = agent.messages().await.unwrap_or_default();
    let behind = messages.iter().rev().take_while(|message| message.role != Role::Summary).count();
    if behind == messages.len() { 0 } else { behind }
}

/// Sends a prompt. At the end of its work, sends a message to `over`, unless the prompt fails.
pub(super) async fn begin(agent: &Agent, words: Words, over: &UnboundedSender<Word>) -> Result<(), Error> {
    let at_the_end = agent.spec().run_end.answer_ends;
    let begun = match agent.prompt(words).await {
        Ok(run) if at_the_end => begins(run).await?,
        begun => Some(begun?),
    };
    let over = over.clone();
    let Some(run) = begun else {
        let _ = over.send(Word::Over(None));
        return Ok(());
    };
    tokio::spawn(async move {
        let refused = match run.result().await {
            Err(Error::Refused(refused)) => Some(refused.message.clone()),
            // Such a run fails with the response to its command.
            Err(Error::RunFailed(failure)) if at_the_end => Some(failure.message.clone()),
            _ => None,
        };
        let _ = over.send(Word::Over(refused));
    });
    Ok(())
}

/// Waits for the start of work whose command gets its response at the end. Returns `None` if the work has
/// ended at once. Fails if the command is rejected before the start.
async fn begins(mut run: Run) -> Result<Option<Run>, Error> {
    use agentese::any::Event;
    while let Some(Ok(event)) = run.next().await {
        if matches!(event, Event::State { .. } | Event::MessageBegan { .. }) {
            return Ok(Some(run));
        }
    }
    run.result().await.map(|_| None)
}

/// Returns the reason of an error for people.
pub(super) fn reason(error: &Error) -> String {
    match error {
        Error::Refused(refused) => refused.message.clone(),
        error => error.to_string(),
    }
}
