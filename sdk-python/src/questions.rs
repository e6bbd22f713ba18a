//! Dialogs on their way to a Python handler, and their answers on the way back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::dialog::Members;
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
use crate::mailbox::Ticket;
use crate::record::Record;
use crate::wait::{Bell, deadline};

/// A question before its delivery to Python.
pub struct Asked {
    method: String,
    params: FrameText,
    notice: bool,
    answer: oneshot::Sender<Answer>,
    end: Arc<End>,
}

/// The state of a question: withdrawn by the agent or by the end of the connection.
#[derive(Default)]
struct End {
    withdrawn: AtomicBool,
    bell: Bell,
}

/// Held by the connection while it waits for the answer. Dropping it earlier marks the question as withdrawn.
struct Waits {
    questions: Arc<Questions>,
    end: Option<Arc<End>>,
}

impl Waits {
    /// Ends the wait without a withdrawal, because the answer has arrived or will not arrive.
    fn are_over(mut self) {
        self.end = None;
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end.withdrawn.store(true, Ordering::Release);
            end.bell.ring();
            self.questions.wake();
        }
    }
}

#[derive(Default)]
struct State {
    asked: VecDeque<Asked>,
    over: bool,
}

impl State {
    /// Removes withdrawn questions. Notices have no answer, so they stay.
    fn forget_withdrawn(&mut self) {
        self.asked.retain(|asked| asked.notice || !asked.end.withdrawn.load(Ordering::Acquire));
    }
}

/// The questions before their delivery.
pub struct Questions {
    state: Mutex<State>,
    bell: Bell,
    ticket: Option<Ticket>,
}

impl Questions {
    /// Creates an empty queue. The ticket is posted after the arrival of questions, and at the end.
    pub fn new(ticket: Option<Ticket>) -> Arc<Self> {
        Arc::new(Questions { state: Mutex::default(), bell: Bell::default(), ticket })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.bell.ring();
        if let Some(ticket) = &self.ticket {
            ticket.post();
        }
    }

    /// Marks the end: no more questions follow.
    pub fn end(&self) {
        self.state().over = true;
        self.wake();
    }

    /// Waits for the next question. Returns `None` at the end.
    pub fn next(&self, py: Python<'_>) -> PyResult<Option<Question>> {
        loop {
            let heard = self.bell.rings();
            {
                let mut state = self.state();
                state.forget_withdrawn();
                if let Some(asked) = state.asked.pop_front() {
                    return Ok(Some(Question::new(asked)));
                }
                if state.over {
                    return Ok(None);
                }
            }
            self.bell.wait(py, heard, None)?;
        }
    }

    /// Takes the waiting questions.
    pub fn take(&self) -> Vec<Question> {
        let mut state = self.state();
        state.forget_withdrawn();
        state.asked.drain(..).map(Question::new).collect()
    }
}

/// The handler that the connection core calls.
pub struct Sink {
    pub spec: &'static Spec,
    pub questions: Arc<Questions>,
}

impl Dialogs for Sink {
    fn ask(&self, method: &str, params: &str) -> BoxFuture<'static, Option<Members>> {
        let (answer, answered) = oneshot::channel();
        let end = Arc::new(End::default());
        let notice = self.spec.dialog(method).is_some_and(|dialog| !dialog.answered);
        let (params, waiting) = (FrameText::from(params), end.clone());
        let asked = Asked { method: method.to_owned(), params, notice, answer, end };
        self.questions.state().asked.push_back(asked);
        self.questions.wake();
        let waits = Waits { questions: self.questions.clone(), end: Some(waiting) };
        async move {
            let answer = answered.await;
            waits.are_over();
            match answer {
                Ok(Ok(members)) => members,
                // For the connection, a failed handler is a panic; nothing is printed.
                Ok(Err(reason)) => std::panic::resume_unwind(Box::new(reason)),
                Err(_) => None,
            }
        }
        .boxed()
    }
}

/// The answer of a handler, or its failure; `None` leaves the question to the declared policy.
type Answer = Result<Option<Members>, String>;

struct OpenQuestion {
    method: String,
    params: FrameText,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
    end: Arc<End>,
}

/// A question or notice of the agent. Dropping it without an answer leaves it to the declared policy.
#[pyclass(frozen)]
pub struct Question {
    open: ForkGuarded<OpenQuestion>,
}

impl Question {
    fn new(asked: Asked) -> Self {
        let Asked { method, params, answer, end, .. } = asked;
        Question {
            open: ForkGuarded::new(OpenQuestion { method, params, answer: Mutex::new(Some(answer)), end }),
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
        let end = self.open.get(py)?.end.clone();
        let deadline = deadline(timeout);
        loop {
            let heard = end.bell.rings();
            if end.withdrawn.load(Ordering::Acquire) {
                return Ok(true);
            }
            if !end.bell.wait(py, heard, deadline)? {
                return Ok(false);
            }
        }
    }

    /// Answers with the members of a JSON object; `None` leaves the question to the declared policy. Only the
    /// first answer applies.
    #[pyo3(signature = (members=None))]
    fn answer(&self, py: Python<'_>, members: Option<&str>) -> PyResult<()> {
        let open = self.open.get(py)?;
        let members = members.map(serde_json::from_str::<Members>).transpose();
        let members = members.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let answer = open.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            let _ = answer.send(Ok(members));
        }
        Ok(())
    }

    /// Reports a failure of the handler; the declared policy answers.
    fn fail(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        let answer = self.open.get(py)?.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            let _ = answer.send(Err(reason));
        }
        Ok(())
    }
}
