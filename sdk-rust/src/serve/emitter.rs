//! What handlers send: answers, events, questions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::lines;
use super::outbox::Outbox;
use super::pieces::Pieces;
use super::refusal::Refusal;
use crate::frame::{dialog_line, event_ends, success_ends};
use crate::glance::glance;
use crate::scan;
use crate::spec::{Answer, CommandSpec, Dialect, Spec};
use crate::wire::{Answered, Named};

/// The questions that wait for an answer.
#[derive(Default)]
pub(super) struct Questions {
    state: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    answers: HashMap<String, Open>,
    /// How many questions were asked so far.
    asked: u64,
    /// Nobody is there to answer any more.
    closed: bool,
}

/// A question that waits for its answer.
struct Open {
    /// Its place in the order of questions.
    place: u64,
    answer: oneshot::Sender<Map<String, Value>>,
}

impl Questions {
    fn state(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, id: &str) -> Option<oneshot::Receiver<Map<String, Value>>> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.asked += 1;
        let open = Open { place: state.asked, answer: sender };
        state.answers.insert(id.to_owned(), open);
        Some(receiver)
    }

    /// Takes the question with that id. Returns `None` if no question has it.
    fn take(&self, id: &str) -> Option<Open> {
        self.state().answers.remove(id)
    }

    /// Takes the question that has waited longest. Returns `None` if none waits.
    fn take_oldest(&self) -> Option<Open> {
        let mut state = self.state();
        let oldest = state.answers.iter().min_by_key(|(_, open)| open.place).map(|(id, _)| id.clone())?;
        state.answers.remove(&oldest)
    }

    fn forget(&self, id: &str) {
        self.state().answers.remove(id);
    }

    pub fn dismiss_all(&self) {
        let mut state = self.state();
        state.closed = true;
        state.answers.clear();
    }
}

/// The events of a call that has no answer yet.
#[derive(Default)]
struct Held {
    state: Mutex<HeldEvents>,
}

#[derive(Default)]
struct HeldEvents {
    lines: Vec<Pieces>,
    answered: bool,
}

impl Held {
    fn state(&self) -> std::sync::MutexGuard<'_, HeldEvents> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameters of a question in the dialect `D`.
pub trait Ask<D: Dialect>: Into<D::Dialog> {
    /// What the person chooses or enters.
    type Answer: serde::de::DeserializeOwned;
    /// The member of the answer that carries it.
    const MEMBER: &'static str;
}

/// Sends events and questions to the client. Cheap to clone.
///
/// An emitter that belongs to a [`Call`] holds its events back until the call has its answer, where the command is
/// answered before its work: the answer stands before the events that the command causes. Questions are sent at once.
pub struct Emitter<D: Dialect> {
    outbox: Arc<Outbox>,
    questions: Arc<Questions>,
    /// Where events wait for an answer.
    held: Option<Arc<Held>>,
    /// The revision that is spoken.
    spec: &'static Spec,
    dialect: std::marker::PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for Emitter<D> {
    fn clone(&self) -> Self {
        Emitter {
            outbox: self.outbox.clone(),
            questions: self.questions.clone(),
            held: self.held.clone(),
            spec: self.spec,
            dialect: self.dialect,
        }
    }
}

impl<D: Dialect> std::fmt::Debug for Emitter<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter").field("dialect", &self.spec.id()).finish_non_exhaustive()
    }
}

impl<D: Dialect> Emitter<D> {
    pub(super) fn new(spec: &'static Spec, outbox: Arc<Outbox>, questions: Arc<Questions>) -> Self {
        Emitter { outbox, questions, held: None, spec, dialect: std::marker::PhantomData }
    }

    /// The tables of the revision that is spoken.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Sends an event. Waits while a client that does not read has too much waiting for it; an
    /// event to a client that is gone is dropped.
    pub async fn emit(&self, event: &D::Event) {
        match serde_json::to_string(event) {
            Ok(body) => self.emit_body(body).await,
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }

    /// Sends an event from the text of its object, as [`Emitter::emit`] does.
    pub async fn emit_body(&self, body: impl Into<Pieces>) {
        self.room().await;
        self.emit_body_now(body);
    }

    /// Waits while a client that does not read has too much waiting for it.
    pub async fn room(&self) {
        self.outbox.room().await;
    }

    /// Sends an event from the text of its object without waiting, however much waits already: for
    /// an event that has to stand in one order with a change of state. Waiting for
    /// [`Emitter::room`] first keeps memory flat.
    pub fn emit_body_now(&self, body: impl Into<Pieces>) {
        let (before, after) = event_ends(self.spec);
        let line = body.into().between(before, after);
        if let Some(held) = &self.held {
            let mut events = held.state();
            if !events.answered {
                events.lines.push(line);
                return;
            }
        }
        self.outbox.push(line);
    }

    /// The same, holding events back until [`Emitter::release`].
    fn holding(mut self) -> Self {
        self.held = Some(Arc::default());
        self
    }

    /// Sends the answer of a call, and the events that waited for it. `succeeds` is the command whose success it tells.
    fn release(&self, answer: Pieces, succeeds: Option<&'static str>) {
        let push = |answer| match succeeds {
            Some(command) => self.outbox.push_answer(command, answer),
            None => self.outbox.push(answer),
        };
        let Some(held) = &self.held else { return push(answer) };
        // The lock is held meanwhile, so that no event stands before those that waited.
        let mut events = held.state();
        push(answer);
        for line in events.lines.drain(..) {
            self.outbox.push(line);
        }
        events.answered = true;
    }

    /// Asks a question and waits for what was chosen or entered. Gives nothing where it was dismissed, no answer came
    /// in time, or none can come any more.
    pub async fn ask<Q: Ask<D>>(&self, question: Q, timeout: Option<Duration>) -> Option<Q::Answer> {
        let mut members = self.ask_any(&question.into(), timeout).await?;
        serde_json::from_value(members.remove(Q::MEMBER)?).ok()
    }

    /// Sends a notice. Nobody answers it.
    pub fn notify(&self, notice: impl Into<D::Dialog>) {
        drop(self.question(&notice.into()));
    }

    /// Sends a notice, or asks a question and waits for the answer's members. Gives nothing where
    /// no answer came in time, or none can come any more.
    pub async fn ask_any(&self, dialog: &D::Dialog, timeout: Option<Duration>) -> Option<Map<String, Value>> {
        self.question(dialog)?.answer(timeout).await
    }

    /// Sends a notice, or a question, at once; none for a notice, and where nobody can answer any more,
    /// as after the end of stdin. Its answer is waited for with [`Question::answer`].
    pub fn question(&self, dialog: &D::Dialog) -> Option<Question> {
        let answered = self.spec.dialog(dialog.name()).is_some_and(|spec| spec.answered);
        let id = uuid::Uuid::new_v4().to_string();
        let line = dialog_line(self.spec, &Value::from(id.as_str()), dialog)
            .inspect_err(|error| tracing::error!(%error, "a dialog could not be written"))
            .ok()?;
        let answer = match answered {
            true => Some(self.questions.open(&id)?),
            false => None,
        };
        self.outbox.push(line.into());
        Some(Question { asked: Asked { questions: self.questions.clone(), id }, answer: answer? })
    }

    pub(super) fn send_line(&self, line: String) {
        self.outbox.push(line.into());
    }

    pub(super) fn settle_question(&self, id: &str, members: Map<String, Value>) {
        // An answer to no question (late, second, forged) is ignored, as the documents say.
        match self.questions.take(id) {
            Some(open) => drop(open.answer.send(members)),
            None => tracing::debug!(id, "an answer to no question is ignored"),
        }
    }

    /// Fails the question that a line answers which cannot be read. `text` is the line, or its beginning if it `is_skipped`
    /// for its length.
    ///
    /// Only the line's own `id` names a question, never one that it quotes. A skipped line whose own id is not in its
    /// beginning fails the question that has waited longest, unless it names a command or another id.
    pub(super) fn fail_question(&self, text: &str, is_skipped: bool, reason: &str) {
        let glance = glance(text);
        let is_command = match &glance.kind {
            _ if !self.spec.framing_is_flat() => glance.method.is_some(),
            kind => kind.as_ref().is_some_and(|kind| !self.spec.is_answer(kind)),
        };
        if is_command || !glance.is_own {
            return;
        }
        let open = match glance.id {
            Some(id) => scan::string(id).and_then(|id| self.questions.take(&id)),
            None if is_skipped => self.questions.take_oldest(),
            None => None,
        };
        fail(open, reason);
    }

    pub(super) fn dismiss_questions(&self) {
        self.questions.dismiss_all();
    }
}

/// Settles a question with an error in place of its answer.
fn fail(open: Option<Open>, reason: &str) {
    let Some(open) = open else { return };
    let message = format!("the client's answer cannot be read: {reason}");
    tracing::warn!("a question to the client fails: {message}");
    let error = serde_json::json!({"message": message});
    drop(open.answer.send(Map::from_iter([("error".to_owned(), error)])));
}

/// A question that was sent. Dropping it withdraws it: an answer that still comes is ignored.
#[derive(Debug)]
#[must_use = "a question that is dropped is withdrawn"]
pub struct Question {
    asked: Asked,
    answer: oneshot::Receiver<Map<String, Value>>,
}

impl Question {
    /// Its id, as the client got it.
    pub fn id(&self) -> &str {
        &self.asked.id
    }

    /// The members of the answer. Gives nothing where none came in time, or none can come any more.
    pub async fn answer(self, timeout: Option<Duration>) -> Option<Map<String, Value>> {
        let Question { asked, answer } = self;
        let answer = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, answer).await.ok()?.ok(),
            None => answer.await.ok(),
        };
        drop(asked);
        answer
    }
}

struct Asked {
    questions: Arc<Questions>,
    id: String,
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.questions.forget(&self.id);
    }
}

/// One command that is being carried out.
///
/// `R` is the data of its answer.
pub struct Call<D: Dialect, R = ()> {
    emitter: Emitter<D>,
    id: Option<Arc<str>>,
    spec: &'static CommandSpec,
    answered: Arc<AtomicBool>,
    replaced: CancellationToken,
    reply: fn(R) -> D::Reply,
}

impl<D: Dialect, R> Clone for Call<D, R> {
    fn clone(&self) -> Self {
        Call {
            emitter: self.emitter.clone(),
            id: self.id.clone(),
            spec: self.spec,
            answered: self.answered.clone(),
            replaced: self.replaced.clone(),
            reply: self.reply,
        }
    }
}

impl<D: Dialect, R> std::fmt::Debug for Call<D, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("command", &self.spec.wire).field("id", &self.id).finish_non_exhaustive()
    }
}

impl<D: Dialect> Call<D, D::Reply> {
    pub(super) fn new(
        emitter: Emitter<D>,
        id: Option<&str>,
        spec: &'static CommandSpec,
        replaced: CancellationToken,
    ) -> Self {
        let emitter = match spec.answer {
            Answer::Accepted => emitter.holding(),
            // These may tell of their work while it goes on, or are answered already.
            Answer::Done | Answer::Acknowledged | Answer::Never => emitter,
        };
        let answered = Arc::new(AtomicBool::new(spec.answer == Answer::Never));
        Call { emitter, id: id.map(Arc::from), spec, answered, replaced, reply: |reply| reply }
    }

    pub(super) fn acknowledge(&self) {
        self.success(None);
    }

    pub(super) fn finish(&self, result: Result<D::Reply, Refusal>) {
        match result {
            Ok(_) if matches!(self.spec.answer, Answer::Acknowledged | Answer::Never) => {}
            Ok(reply) => self.answer(reply),
            Err(refusal) if self.answered.swap(true, Ordering::AcqRel) => {
                tracing::warn!(command = self.spec.wire, %refusal, "failed after it was answered");
            }
            Err(refusal) => self.failure(&refusal),
        }
    }
}

impl<D: Dialect, R> Call<D, R> {
    /// The same call, which is answered with the data of its own command. For whoever implements
    /// [`Dispatch`](super::Dispatch) and knows the command.
    pub fn typed<T>(self, reply: fn(T) -> D::Reply) -> Call<D, T> {
        let Call { emitter, id, spec, answered, replaced, .. } = self;
        Call { emitter, id, spec, answered, replaced, reply }
    }

    /// Waits until a command has come that ends what is going on (`new_session` and its like) and cannot begin
    /// before this one is over. For handlers that wait for a person. Never returns where none comes.
    pub fn replaced(&self) -> impl Future<Output = ()> + Send + use<D, R> {
        self.replaced.clone().cancelled_owned()
    }

    /// The command's id as it came, as JSON; none where it has none.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Where events and questions go.
    pub fn emitter(&self) -> &Emitter<D> {
        &self.emitter
    }

    /// Answers now, before the handler is done. Events that were emitted before this are sent behind the answer. What
    /// the handler returns is then dropped, and an error is logged.
    pub fn answer(&self, data: R) {
        if self.answered.swap(true, Ordering::AcqRel) {
            return;
        }
        let reply = (self.reply)(data);
        if reply.command() != self.spec.wire {
            tracing::error!(
                command = self.spec.wire,
                reply = reply.command(),
                "the answer of another command"
            );
            return self.failure(&Refusal::new(format!("`{}` failed inside the server", self.spec.wire)));
        }
        match reply.encode() {
            Ok(data) => self.success(data.map(Pieces::from)),
            Err(error) => self.failure(&Refusal::new(error.to_string())),
        }
    }

    /// As [`Call::answer`], with data that is JSON text already and fits the declaration: what is stored as text need
    /// not be read to be sent.
    pub fn answer_text(&self, data: impl Into<Pieces>) {
        if !self.answered.swap(true, Ordering::AcqRel) {
            self.success(Some(data.into()));
        }
    }

    /// Leaves the command without an answer: for work that the end of input has stopped, in dialects that are silent about
    /// it. What the handler returns is dropped.
    pub fn leave_unanswered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    /// Takes the answering over from the handler, which may return before the command is answered; what it returns is
    /// dropped. The command stays without an answer where this one gives none.
    pub fn take_over(&self) -> Self {
        let answered = self.answered.swap(true, Ordering::AcqRel);
        Call { answered: Arc::new(AtomicBool::new(answered)), ..self.clone() }
    }

    fn success(&self, data: Option<Pieces>) {
        let (before, after) =
            success_ends(self.emitter.spec, self.id.as_deref(), self.spec.wire, data.is_some());
        let line = data.unwrap_or_default().between(before, after);
        self.emitter.release(line, Some(self.spec.wire));
    }

    pub(super) fn failure(&self, refusal: &Refusal) {
        let line = lines::refused(
            self.emitter.spec,
            self.id.as_deref(),
            self.spec.wire,
            refusal,
            lines::Fault::Handler,
        );
        self.emitter.release(line.into(), None);
    }
}

impl<D: Dialect, R> Call<D, R> {
    /// Answers now that the work can start, where the dialect answers this command then; elsewhere nothing is sent. For
    /// commands whose answer has no data.
    pub fn accept(&self) {
        if self.spec.answer == Answer::Accepted && !self.answered.swap(true, Ordering::AcqRel) {
            self.success(None);
        }
    }
}
