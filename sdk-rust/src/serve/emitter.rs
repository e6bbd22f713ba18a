//! What handlers send: answers, events, questions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::outbox::Outbox;
use super::{Refusal, lines};
use crate::frame::{dialog_line, event_line, success_line};
use crate::spec::{CommandSpec, Dialect};
use crate::wire::{Answered, Named};

/// The questions that wait for an answer.
#[derive(Default)]
pub(super) struct Questions {
    waiting: Mutex<HashMap<String, oneshot::Sender<Map<String, Value>>>>,
}

impl Questions {
    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Map<String, Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn dismiss_all(&self) {
        self.waiting().clear();
    }
}

/// Sends events and questions to the client. Cheap to clone.
pub struct Emitter<D: Dialect> {
    outbox: Arc<Outbox>,
    questions: Arc<Questions>,
    dialect: std::marker::PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for Emitter<D> {
    fn clone(&self) -> Self {
        Emitter { outbox: self.outbox.clone(), questions: self.questions.clone(), dialect: self.dialect }
    }
}

impl<D: Dialect> std::fmt::Debug for Emitter<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emitter").field("dialect", &D::SPEC.name).finish_non_exhaustive()
    }
}

impl<D: Dialect> Emitter<D> {
    pub(super) fn new(outbox: Arc<Outbox>, questions: Arc<Questions>) -> Self {
        Emitter { outbox, questions, dialect: std::marker::PhantomData }
    }

    /// Sends an event. Waits while a client that does not read has too much waiting for it; an
    /// event to a client that is gone is dropped.
    pub async fn emit(&self, event: &D::Event) {
        match serde_json::to_string(event) {
            Ok(body) => self.emit_body(&body).await,
            Err(error) => tracing::error!(%error, "an event could not be written"),
        }
    }

    /// Sends an event from the text of its object, as [`Emitter::emit`] does.
    pub async fn emit_body(&self, body: &str) {
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
    pub fn emit_body_now(&self, body: &str) {
        self.outbox.push(event_line(D::SPEC, body).as_bytes());
    }

    /// Sends a notice, or asks a question and waits for the answer's members. Gives nothing where
    /// no answer came in time, or none can come any more.
    pub async fn ask(&self, dialog: &D::Dialog, timeout: Option<Duration>) -> Option<Map<String, Value>> {
        let answered = D::SPEC.dialog(dialog.name()).is_some_and(|spec| spec.answered);
        let id = uuid::Uuid::new_v4().to_string();
        let (sender, receiver) = oneshot::channel();
        if answered {
            self.questions.waiting().insert(id.clone(), sender);
        }
        let asked = Asked { questions: &self.questions, id: &id };
        match dialog_line(D::SPEC, &Value::from(id.as_str()), dialog) {
            Ok(line) => self.outbox.push(line.as_bytes()),
            Err(error) => {
                tracing::error!(%error, "a dialog could not be written");
                return None;
            }
        }
        if !answered {
            return None;
        }
        let answer = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, receiver).await.ok()?.ok(),
            None => receiver.await.ok(),
        };
        drop(asked);
        answer
    }

    pub(super) fn send_line(&self, line: String) {
        self.outbox.push(line.as_bytes());
    }

    pub(super) fn settle_question(&self, id: &str, members: Map<String, Value>) {
        // An answer to no question (late, second, forged) is ignored, as the documents say.
        if let Some(sender) = self.questions.waiting().remove(id) {
            let _ = sender.send(members);
        }
    }

    pub(super) fn dismiss_questions(&self) {
        self.questions.dismiss_all();
    }
}

struct Asked<'a> {
    questions: &'a Questions,
    id: &'a str,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.questions.waiting().remove(self.id);
    }
}

/// One command that is being carried out.
pub struct Call<D: Dialect> {
    emitter: Emitter<D>,
    id: Option<Arc<str>>,
    spec: &'static CommandSpec,
    answered: Arc<AtomicBool>,
}

impl<D: Dialect> Clone for Call<D> {
    fn clone(&self) -> Self {
        Call {
            emitter: self.emitter.clone(),
            id: self.id.clone(),
            spec: self.spec,
            answered: self.answered.clone(),
        }
    }
}

impl<D: Dialect> std::fmt::Debug for Call<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("command", &self.spec.wire).field("id", &self.id).finish_non_exhaustive()
    }
}

impl<D: Dialect> Call<D> {
    pub(super) fn new(emitter: Emitter<D>, id: Option<&str>, spec: &'static CommandSpec) -> Self {
        Call { emitter, id: id.map(Arc::from), spec, answered: Arc::new(AtomicBool::new(false)) }
    }

    /// Where events and questions go.
    pub fn emitter(&self) -> &Emitter<D> {
        &self.emitter
    }

    /// Answers now, before the handler is done: everything that is sent afterwards stands after
    /// the answer. What the handler returns is then dropped, and an error is logged.
    pub fn answer(&self, reply: &D::Reply) {
        if self.answered.swap(true, Ordering::AcqRel) {
            return;
        }
        match reply.encode() {
            Ok(data) => self.success(data.as_deref()),
            Err(error) => self.failure(&Refusal::new(error.to_string())),
        }
    }

    pub(super) fn acknowledge(&self) {
        self.success(None);
    }

    pub(super) fn finish(&self, result: Result<D::Reply, Refusal>) {
        match result {
            Ok(_) if self.spec.answer == crate::spec::Answer::Acknowledged => {}
            Ok(reply) => self.answer(&reply),
            Err(refusal) if self.answered.swap(true, Ordering::AcqRel) => {
                tracing::warn!(command = self.spec.wire, %refusal, "failed after it was answered");
            }
            Err(refusal) => self.failure(&refusal),
        }
    }

    fn success(&self, data: Option<&str>) {
        self.emitter.send_line(success_line(D::SPEC, self.id.as_deref(), self.spec.wire, data));
    }

    fn failure(&self, refusal: &Refusal) {
        self.emitter.send_line(lines::refused(D::SPEC, self.id.as_deref(), self.spec.wire, refusal, false));
    }
}
