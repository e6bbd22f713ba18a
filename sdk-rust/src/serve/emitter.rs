//! Output of handlers: answers, events, questions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::command_error::CommandError;
use super::lines;
use super::outbox::Outbox;
use super::segments::Segments;
use crate::frame::{dialog_line, event_ends, success_ends};
use crate::frame_header::read_header;
use crate::scan;
use crate::spec::{AnswerTiming, CommandSpec, Dialect, Spec};
use crate::wire::{NamedUnion, ReplyUnion};

/// The open questions.
#[derive(Default)]
pub(super) struct OpenQuestions {
    state: Mutex<QuestionTable>,
}

#[derive(Default)]
struct QuestionTable {
    answers: HashMap<String, QuestionSlot>,
    /// Number of questions sent so far.
    count: u64,
    /// `true` if no further answer can arrive.
    closed: bool,
}

/// An open question.
struct QuestionSlot {
    /// Number of the question in the order of sending.
    number: u64,
    answer: oneshot::Sender<Map<String, Value>>,
}

impl OpenQuestions {
    fn state(&self) -> std::sync::MutexGuard<'_, QuestionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, id: &str) -> Option<oneshot::Receiver<Map<String, Value>>> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.count += 1;
        let open = QuestionSlot { number: state.count, answer: sender };
        state.answers.insert(id.to_owned(), open);
        Some(receiver)
    }

    /// Removes the question with the given id. Returns `None` if no question has it.
    fn take(&self, id: &str) -> Option<QuestionSlot> {
        self.state().answers.remove(id)
    }

    /// Removes the oldest question. Returns `None` if no question is open.
    fn take_oldest(&self) -> Option<QuestionSlot> {
        let mut state = self.state();
        let oldest = state.answers.iter().min_by_key(|(_, open)| open.number).map(|(id, _)| id.clone())?;
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

/// Events that a call emits before its answer. They are held until the answer is sent.
#[derive(Default)]
struct EventHold {
    state: Mutex<HeldEvents>,
}

#[derive(Default)]
struct HeldEvents {
    lines: Vec<Segments>,
    answered: bool,
}

impl EventHold {
    fn state(&self) -> std::sync::MutexGuard<'_, HeldEvents> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Implemented by the parameters of each question in the dialect `D`.
pub trait QuestionParams<D: Dialect>: Into<D::Dialog> {
    /// Type of the chosen or entered value.
    type Answer: serde::de::DeserializeOwned;
    /// Name of the answer's member that contains the value.
    const MEMBER: &'static str;
}

/// Sends events and questions to the client. Cheap to clone.
///
/// If a command is answered before its work, the emitter of its [`Call`] holds all events until the answer is
/// sent. The answer then precedes the events that the command causes. Questions are sent at once.
pub struct Emitter<D: Dialect> {
    outbox: Arc<Outbox>,
    questions: Arc<OpenQuestions>,
    /// Events that are held until the answer; `None` if events are sent at once.
    event_hold: Option<Arc<EventHold>>,
    /// Tables of the served revision.
    spec: &'static Spec,
    dialect: std::marker::PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for Emitter<D> {
    fn clone(&self) -> Self {
        Emitter {
            outbox: self.outbox.clone(),
            questions: self.questions.clone(),
            event_hold: self.event_hold.clone(),
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
    pub(super) fn new(spec: &'static Spec, outbox: Arc<Outbox>, questions: Arc<OpenQuestions>) -> Self {
        Emitter { outbox, questions, event_hold: None, spec, dialect: std::marker::PhantomData }
    }

    /// Returns the tables of the served revision.
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// Sends an event. Waits while the frames that the client has not read exceed the limit. Drops the event if
    /// the client is disconnected.
    pub async fn emit(&self, event: &D::Event) {
        match serde_json::to_string(event) {
            Ok(body) => self.emit_body(body).await,
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }

    /// Sends an event from the text of its object, as [`Emitter::emit`] does.
    pub async fn emit_body(&self, body: impl Into<Segments>) {
        self.room().await;
        self.emit_body_now(body);
    }

    /// Waits while the frames that the client has not read exceed the limit.
    pub async fn room(&self) {
        self.outbox.room().await;
    }

    /// Sends an event from the text of its object without waiting, even above the limit. For events that must
    /// be sent in the same moment as a change of state. To limit the memory, wait for [`Emitter::room`] before.
    pub fn emit_body_now(&self, body: impl Into<Segments>) {
        let (before, after) = event_ends(self.spec);
        let line = body.into().between(before, after);
        if let Some(held) = &self.event_hold {
            let mut events = held.state();
            if !events.answered {
                events.lines.push(line);
                return;
            }
        }
        self.outbox.push(line);
    }

    /// Returns the same emitter, which holds events until [`Emitter::release`].
    fn with_hold(mut self) -> Self {
        self.event_hold = Some(Arc::default());
        self
    }

    /// Sends the answer of a call, followed by the held events. `succeeds` is the name of the command if the
    /// answer reports success.
    fn release(&self, answer: Segments, succeeds: Option<&'static str>) {
        let push = |answer| match succeeds {
            Some(command) => self.outbox.push_answer(command, answer),
            None => self.outbox.push(answer),
        };
        let Some(held) = &self.event_hold else { return push(answer) };
        // The lock is held meanwhile, so that no event precedes the delayed events.
        let mut events = held.state();
        push(answer);
        for line in events.lines.drain(..) {
            self.outbox.push(line);
        }
        events.answered = true;
    }

    /// Sends a question and returns the chosen or entered value. Returns `None` if the question was dismissed, no
    /// answer arrived in time, or no answer can arrive any more.
    pub async fn ask<Q: QuestionParams<D>>(
        &self,
        question: Q,
        timeout: Option<Duration>,
    ) -> Option<Q::Answer> {
        let mut members = self.ask_dialog(&question.into(), timeout).await?;
        serde_json::from_value(members.remove(Q::MEMBER)?).ok()
    }

    /// Sends a notice, which has no answer.
    pub fn notify(&self, notice: impl Into<D::Dialog>) {
        drop(self.question(&notice.into()));
    }

    /// Sends a notice or a question. For a question, waits for the answer and returns its members. Returns
    /// `None` for a notice. Also returns `None` if no answer arrived in time or can arrive any more.
    pub async fn ask_dialog(
        &self,
        dialog: &D::Dialog,
        timeout: Option<Duration>,
    ) -> Option<Map<String, Value>> {
        self.question(dialog)?.answer(timeout).await
    }

    /// Sends a notice or a question at once. For a question, [`PendingQuestion::answer`] waits for the answer.
    /// Returns `None` for a notice. Also returns `None` if no answer can arrive any more, for example after the
    /// end of stdin.
    pub fn question(&self, dialog: &D::Dialog) -> Option<PendingQuestion> {
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
        Some(PendingQuestion {
            guard: QuestionGuard { questions: self.questions.clone(), id },
            answer: answer?,
        })
    }

    pub(super) fn send_line(&self, line: String) {
        self.outbox.push(line.into());
    }

    pub(super) fn settle_question(&self, id: &str, members: Map<String, Value>) {
        // An answer without an open question (late, second, forged) is ignored, as the documents require.
        match self.questions.take(id) {
            Some(open) => drop(open.answer.send(members)),
            None => tracing::debug!(id, "an unexpected answer is ignored"),
        }
    }

    /// Fails the question to which an unreadable line was the answer. `text` is the line. With `is_skipped`,
    /// the line was too long, and `text` is only its beginning.
    ///
    /// Only the line's own `id` identifies a question, never an id inside a quoted text. If the beginning of a
    /// skipped line contains no id, the oldest question fails. A line that contains a command fails no
    /// question.
    pub(super) fn fail_question(&self, text: &str, is_skipped: bool, reason: &str) {
        let glance = read_header(text);
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

/// Settles a question. The members of its answer are an error with the reason.
fn fail(open: Option<QuestionSlot>, reason: &str) {
    let Some(open) = open else { return };
    let message = format!("the client's answer cannot be read: {reason}");
    tracing::warn!("a question to the client fails: {message}");
    let error = serde_json::json!({"message": message});
    drop(open.answer.send(Map::from_iter([("error".to_owned(), error)])));
}

/// A question that was sent. Dropping it withdraws the question, so that a later answer is ignored.
#[derive(Debug)]
#[must_use = "a question that is dropped is withdrawn"]
pub struct PendingQuestion {
    guard: QuestionGuard,
    answer: oneshot::Receiver<Map<String, Value>>,
}

impl PendingQuestion {
    /// Returns the id that the question has on the wire.
    pub fn id(&self) -> &str {
        &self.guard.id
    }

    /// Returns the members of the answer. Returns `None` if no answer arrived in time or can arrive any more.
    pub async fn answer(self, timeout: Option<Duration>) -> Option<Map<String, Value>> {
        let PendingQuestion { guard: asked, answer } = self;
        let answer = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, answer).await.ok()?.ok(),
            None => answer.await.ok(),
        };
        drop(asked);
        answer
    }
}

struct QuestionGuard {
    questions: Arc<OpenQuestions>,
    id: String,
}

impl std::fmt::Debug for QuestionGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuestionGuard").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.questions.forget(&self.id);
    }
}

/// A command in progress, with the means to answer it.
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
            AnswerTiming::Accepted => emitter.with_hold(),
            // Such commands may emit events during their work, or are answered already.
            AnswerTiming::Done | AnswerTiming::Acknowledged | AnswerTiming::Never => emitter,
        };
        let answered = Arc::new(AtomicBool::new(spec.answer == AnswerTiming::Never));
        Call { emitter, id: id.map(Arc::from), spec, answered, replaced, reply: |reply| reply }
    }

    pub(super) fn acknowledge(&self) {
        self.success(None);
    }

    pub(super) fn finish(&self, result: Result<D::Reply, CommandError>) {
        match result {
            Ok(_) if matches!(self.spec.answer, AnswerTiming::Acknowledged | AnswerTiming::Never) => {}
            Ok(reply) => self.answer(reply),
            Err(command_error) if self.answered.swap(true, Ordering::AcqRel) => {
                tracing::warn!(command = self.spec.wire, %command_error, "failed after it was answered");
            }
            Err(command_error) => self.failure(&command_error),
        }
    }
}

impl<D: Dialect, R> Call<D, R> {
    /// Returns the same call with the data type of its command. For implementations of
    /// [`Dispatch`](super::Dispatch), which know the command.
    pub fn typed<T>(self, reply: fn(T) -> D::Reply) -> Call<D, T> {
        let Call { emitter, id, spec, answered, replaced, .. } = self;
        Call { emitter, id, spec, answered, replaced, reply }
    }

    /// Resolves when a later command, such as `new_session`, replaces the current work and waits for the end of
    /// this command. A handler that waits for the user should stop then. Without such a command, never
    /// resolves.
    pub fn replaced(&self) -> impl Future<Output = ()> + Send + use<D, R> {
        self.replaced.clone().cancelled_owned()
    }

    /// Returns the command's id as received, as JSON; `None` if it has no id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns the emitter for events and questions.
    pub fn emitter(&self) -> &Emitter<D> {
        &self.emitter
    }

    /// Answers now, before the handler returns. Events that were emitted before follow the answer. The later
    /// result of the handler is dropped; if it is an error, it is logged.
    pub fn answer(&self, data: R) {
        if self.answered.swap(true, Ordering::AcqRel) {
            return;
        }
        let reply = (self.reply)(data);
        if reply.command() != self.spec.wire {
            tracing::error!(
                command = self.spec.wire,
                reply = reply.command(),
                "the handler returned the answer of another command"
            );
            return self
                .failure(&CommandError::new(format!("`{}` failed inside the server", self.spec.wire)));
        }
        match reply.encode() {
            Ok(data) => self.success(data.map(Segments::from)),
            Err(error) => self.failure(&CommandError::new(error.to_string())),
        }
    }

    /// Works like [`Call::answer`], with data that is already JSON text. The text is sent without parsing, so
    /// it must fit the declaration.
    pub fn answer_text(&self, data: impl Into<Segments>) {
        if !self.answered.swap(true, Ordering::AcqRel) {
            self.success(Some(data.into()));
        }
    }

    /// Leaves the command without an answer. Some dialects require this for work that the end of input stops.
    /// The result of the handler is dropped.
    pub fn leave_unanswered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    /// Transfers the duty to answer from the handler to the returned call. The handler may return first, and
    /// its result is dropped. If the returned call sends no answer either, the command remains without one.
    pub fn take_over(&self) -> Self {
        let answered = self.answered.swap(true, Ordering::AcqRel);
        Call { answered: Arc::new(AtomicBool::new(answered)), ..self.clone() }
    }

    fn success(&self, data: Option<Segments>) {
        let (before, after) =
            success_ends(self.emitter.spec, self.id.as_deref(), self.spec.wire, data.is_some());
        let line = data.unwrap_or_default().between(before, after);
        self.emitter.release(line, Some(self.spec.wire));
    }

    pub(super) fn failure(&self, command_error: &CommandError) {
        let line = lines::rejection(
            self.emitter.spec,
            self.id.as_deref(),
            self.spec.wire,
            command_error,
            lines::FailedPart::Handler,
        );
        self.emitter.release(line.into(), None);
    }
}

impl<D: Dialect, R> Call<D, R> {
    /// Answers the command if the dialect answers it as soon as its work can start. Otherwise has no effect.
    /// For commands whose answer has no data.
    pub fn accept(&self) {
        if self.spec.answer == AnswerTiming::Accepted && !self.answered.swap(true, Ordering::AcqRel) {
            self.success(None);
        }
    }
}
