//! Dialogs on their way to a Python handler, and the answers on their way back.

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

/// A question before Python sees it.
pub struct Asked {
    method: String,
    params: FrameText,
    notice: bool,
    answer: oneshot::Sender<Answer>,
    end: Arc<End>,
}

/// Whether a question is none any more: the agent has taken it back, or the connection is over.
#[derive(Default)]
struct End {
    withdrawn: AtomicBool,
    bell: Bell,
}

/// Held by the connection as long as it waits for the answer. Dropped before that, it says that the question is
/// withdrawn.
struct Waits {
    questions: Arc<Questions>,
    end: Option<Arc<End>>,
}

impl Waits {
    /// The answer has come, or nobody gives one: there is nothing to take back.
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
    /// Nobody is asked what the agent does not want to know any more. Notices ask nothing, and are told.
    fn forget_withdrawn(&mut self) {
        self.asked.retain(|asked| asked.notice || !asked.end.withdrawn.load(Ordering::Acquire));
    }
}

/// The questions that nobody has looked at.
pub struct Questions {
    state: Mutex<State>,
    bell: Bell,
    ticket: Option<Ticket>,
}

impl Questions {
    /// None yet. The ticket is posted when some have come, and at the end.
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

    /// No more will come.
    pub fn end(&self) {
        self.state().over = true;
        self.wake();
    }

    /// Waits for the next one; none at the end.
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

    /// Those that are there.
    pub fn take(&self) -> Vec<Question> {
        let mut state = self.state();
        state.forget_withdrawn();
        state.asked.drain(..).map(Question::new).collect()
    }
}

/// What the connection core calls.
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
                // To the connection a handler that fails is one that panics; nothing is printed.
                Ok(Err(reason)) => std::panic::resume_unwind(Box::new(reason)),
                Err(_) => None,
            }
        }
        .boxed()
    }
}

/// The answer of a handler, or how it failed; `None` leaves the question to the declared policy.
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

    /// The parameters as an instance of that class.
    fn record<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        Record::make(class, self.open.get(class.py())?.params.clone())
    }

    /// Whether the agent has taken it back, or the connection is over; waits for that so many seconds.
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

    /// Answers with the members of a JSON object; nothing leaves it to the declared policy. The first answer
    /// counts.
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

    /// Says that the handler has failed, and how; the declared policy answers.
    fn fail(&self, py: Python<'_>, reason: String) -> PyResult<()> {
        let answer = self.open.get(py)?.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(answer) = answer {
            let _ = answer.send(Err(reason));
        }
        Ok(())
    }
}
