//! Dialogs for a Python handler, and their answers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::dialog::AnswerMembers;
use agentese::dynamic::Dialogs;
use agentese::framing::FrameText;
use agentese::spec::Spec;
use futures::FutureExt;
use futures::future::BoxFuture;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use tokio::sync::oneshot;

use crate::fork_guarded::ForkGuarded;
use crate::mailbox::WakeToken;
use crate::notifier::{Notifier, deadline};
use crate::record::Record;

/// A question that Python has not taken yet.
pub struct QueuedQuestion {
    method: String,
    params: FrameText,
    notice: bool,
    answer: oneshot::Sender<Answer>,
    withdrawal: Arc<Withdrawal>,
}

/// The state of a question: withdrawn by the agent or by the end of the connection.
#[derive(Default)]
struct Withdrawal {
    withdrawn: AtomicBool,
    notifier: Notifier,
}

/// Guard that the connection holds while it waits for the answer. If the guard is dropped before, the
/// question is marked as withdrawn.
struct WithdrawalGuard {
    questions: Arc<QuestionQueue>,
    withdrawal: Option<Arc<Withdrawal>>,
}

impl WithdrawalGuard {
    /// Disarms the guard without a withdrawal, because the answer has arrived or will not arrive.
    fn disarm(mut self) {
        self.withdrawal = None;
    }
}

impl Drop for WithdrawalGuard {
    fn drop(&mut self) {
        if let Some(withdrawal) = self.withdrawal.take() {
            withdrawal.withdrawn.store(true, Ordering::Release);
            withdrawal.notifier.notify();
            self.questions.wake();
        }
    }
}

#[derive(Default)]
struct State {
    queued: VecDeque<QueuedQuestion>,
    is_ended: bool,
}

impl State {
    /// Removes withdrawn questions. Notices have no answer, so they stay.
    fn forget_withdrawn(&mut self) {
        self.queued.retain(|asked| asked.notice || !asked.withdrawal.withdrawn.load(Ordering::Acquire));
    }
}

/// The queue of questions that Python has not taken yet.
pub struct QuestionQueue {
    state: Mutex<State>,
    notifier: Notifier,
    token: Option<WakeToken>,
}

impl QuestionQueue {
    /// Creates an empty queue. The token is posted when questions arrive, and at the end.
    pub fn new(token: Option<WakeToken>) -> Arc<Self> {
        Arc::new(QuestionQueue { state: Mutex::default(), notifier: Notifier::default(), token })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.notifier.notify();
        if let Some(token) = &self.token {
            token.post();
        }
    }

    /// Marks the end: no more questions follow.
    pub fn end(&self) {
        self.state().is_ended = true;
        self.wake();
    }

    /// Waits for the next question. Returns `None` at the end.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Question>> {
        loop {
            let seen_count = self.notifier.count();
            {
                let mut state = self.state();
                state.forget_withdrawn();
                if let Some(asked) = state.queued.pop_front() {
                    return Ok(Some(Question::new(asked)));
                }
                if state.is_ended {
                    return Ok(None);
                }
            }
            self.notifier.wait(py, seen_count, None)?;
        }
    }

    /// Takes the waiting questions.
    pub fn take(&self) -> Vec<Question> {
        let mut state = self.state();
        state.forget_withdrawn();
        state.queued.drain(..).map(Question::new).collect()
    }
}

/// The dialog handler of the Rust client. It passes each dialog to the queue.
pub struct DialogForwarder {
    pub spec: &'static Spec,
    pub questions: Arc<QuestionQueue>,
}

impl Dialogs for DialogForwarder {
    fn answer(&self, method: &str, params: &str) -> BoxFuture<'static, Option<AnswerMembers>> {
        let (answer, answered) = oneshot::channel();
        let withdrawal = Arc::new(Withdrawal::default());
        let notice = self.spec.dialog(method).is_some_and(|dialog| !dialog.answered);
        let (params, waiting) = (FrameText::from(params), withdrawal.clone());
        let asked = QueuedQuestion { method: method.to_owned(), params, notice, answer, withdrawal };
        self.questions.state().queued.push_back(asked);
        self.questions.wake();
        let guard = WithdrawalGuard { questions: self.questions.clone(), withdrawal: Some(waiting) };
        async move {
            let answer = answered.await;
            guard.disarm();
            match answer {
                Ok(Ok(members)) => members,
                // The Rust client treats the panic of a handler as its failure; nothing is printed.
                Ok(Err(reason)) => std::panic::resume_unwind(Box::new(reason)),
                Err(_) => None,
            }
        }
        .boxed()
    }
}

/// The answer of a handler, or the reason for its failure. `None` leaves the answer to the declared policy.
type Answer = Result<Option<AnswerMembers>, String>;

struct OpenQuestion {
    method: String,
    params: FrameText,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    withdrawal: Arc<Withdrawal>,
}

/// A question or notice of the agent. If it is dropped without an answer, the declared policy applies.
#[pyclass(frozen)]
pub struct Question {
    open: ForkGuarded<OpenQuestion>,
}

impl Question {
    fn new(asked: QueuedQuestion) -> Self {
        let QueuedQuestion { method, params, answer, withdrawal, .. } = asked;
        Question {
            open: ForkGuarded::new(OpenQuestion {
                method,
                params,
                answer: Mutex::new(Some(answer)),
                withdrawal,
            }),
        }
    }
}

#[pymethods]
impl Question {
    /// The method on the wire.
    #[getter]
    fn method<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, &self.open.get(py)?.method))
    }

    /// Returns the parameters as an instance of that class.
    fn record<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        Record::make(class, self.open.get(class.py())?.params.clone())
    }

    /// Waits at most that many seconds for a withdrawal. Returns `true` if the agent has withdrawn the
    /// question, or the connection has ended.
    #[pyo3(signature = (timeout=0.0))]
    fn withdrawn(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let withdrawal = self.open.get(py)?.withdrawal.clone();
        let deadline = deadline(timeout);
        loop {
            let seen_count = withdrawal.notifier.count();
            if withdrawal.withdrawn.load(Ordering::Acquire) {
                return Ok(true);
            }
            if !withdrawal.notifier.wait(py, seen_count, deadline)? {
                return Ok(false);
            }
        }
    }

    /// Answers with the members of a JSON object; `None` leaves the answer to the declared policy. Only the
    /// first answer applies.
    #[pyo3(signature = (members=None))]
    fn answer(&self, py: Python<'_>, members: Option<&str>) -> PyResult<()> {
        let open = self.open.get(py)?;
        let members = members.map(serde_json::from_str::<AnswerMembers>).transpose();
        let members = members.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let answer = open.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            let _ = answer.send(Ok(members));
        }
        Ok(())
    }

    /// Reports a failure of the handler. The declared policy then supplies the answer.
    fn fail(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        let answer = self.open.get(py)?.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            let _ = answer.send(Err(reason));
        }
        Ok(())
    }
}
