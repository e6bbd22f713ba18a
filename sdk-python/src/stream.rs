//! Streams of events for Python. Events are delivered in batches, as instances of their generated classes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use agentese::dynamic::{Event, EventStream};
use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route_bare};
use agentese::spec::{EventSpec, Spec};
use agentese::{EndedBy, Error};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};

use crate::errors;
use crate::fork_guarded::ForkGuarded;
use crate::mailbox::WakeToken;
use crate::member_spans::MemberSpans;
use crate::notifier::{Notifier, deadline};
use crate::record_class::RecordClass;

/// The maximum number of events in a batch; the next constant is the maximum number of bytes. A batch ends
/// with the event that reaches one of them.
const MAX_EVENTS: usize = 1024;
const MAX_BYTES: usize = 1 << 20;

/// The result of a run: the cause of its end; its last event; `true` if certainly no further event follows;
/// `true` after an abort; the failure.
type RunCompletion<'py> = (&'static str, Option<Bound<'py, PyAny>>, bool, bool, Option<Py<PyAny>>);

/// The class of each declared event, and the class of all other events.
#[pyclass(frozen)]
pub struct EventTable {
    classes: HashMap<String, RecordClass>,
    unknown: RecordClass,
    /// The classes in the order of the dialect's rows, for lookups without name comparisons.
    rows: OnceLock<Rows>,
}

struct Rows {
    spec: &'static Spec,
    classes: Box<[Option<RecordClass>]>,
}

#[pymethods]
impl EventTable {
    #[new]
    fn new(classes: &Bound<'_, PyDict>, unknown: &Bound<'_, PyType>) -> PyResult<Self> {
        let classes = classes
            .iter()
            .map(|(kind, class)| Ok((kind.extract()?, RecordClass::new(class.cast::<PyType>()?)?)));
        let classes = classes.collect::<PyResult<_>>()?;
        Ok(EventTable { classes, unknown: RecordClass::new(unknown)?, rows: OnceLock::new() })
    }

    /// Decodes the event in a line of an agent, with or without the envelope of its dialect.
    fn decode<'py>(&self, py: Python<'py>, dialect: &str, line: &str) -> PyResult<Bound<'py, PyAny>> {
        let (spec, _) = agentese::dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
        // Only the type of an event that contains a key is read, as in clients.
        let frame =
            agentese::redact::strip_payload(line).map_or_else(|| FrameText::from(line), FrameText::from);
        let wrong = |reason: &str| errors::decode(py, reason, frame.as_str());
        match route_bare(spec, &frame) {
            Ok(RoutedFrame::Event { kind, body, outline, .. }) => {
                let class = self.classes.get(&*kind).unwrap_or(&self.unknown);
                class.make(py, body.unwrap_or_else(|| frame.clone()), outline.map(MemberSpans::Outlined))
            }
            Ok(RoutedFrame::Answer { .. }) => Err(wrong("this frame is an answer, not an event")),
            Ok(RoutedFrame::Dialog { method, .. }) => {
                Err(wrong(&format!("this frame is the question `{method}`, not an event")))
            }
            Err(reason) => Err(wrong(&format!("this is not an event: {reason}"))),
        }
    }
}

impl EventTable {
    /// Stores the rows of a dialect.
    pub fn prepare(&self, py: Python<'_>, spec: &'static Spec) {
        self.rows.get_or_init(|| {
            let class = |event: &EventSpec| Some(self.classes.get(event.name)?.clone_ref(py));
            Rows { spec, classes: spec.events.iter().map(class).collect() }
        });
    }

    #[inline]
    fn make<'py>(&self, py: Python<'py>, event: Event) -> PyResult<Bound<'py, PyAny>> {
        let class = event.spec().and_then(|spec| self.rows.get()?.class(spec));
        let places = event.outline().map(|outline| MemberSpans::Outlined(outline.clone()));
        class.unwrap_or(&self.unknown).make(py, event.into_body(), places)
    }
}

impl Rows {
    /// Returns the class of a declared event, by the index of its row.
    #[inline]
    fn class(&self, event: &'static EventSpec) -> Option<&RecordClass> {
        self.classes.get(self.spec.event_index(event)?)?.as_ref()
    }
}

struct Inner {
    stream: EventStream,
    ready: VecDeque<Event>,
    is_error_raised: bool,
}

struct StreamState {
    inner: Mutex<Inner>,
    notifier: Arc<Notifier>,
    waker: Waker,
}

impl StreamState {
    /// Locks the state. While it is locked, no Python code may run and no Python object may be created.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fill(&self, inner: &mut Inner) -> Poll<usize> {
        let mut context = Context::from_waker(&self.waker);
        let Inner { stream, ready, .. } = inner;
        stream.poll_batch(&mut context, |event| ready.push_back(event), MAX_EVENTS, MAX_BYTES)
    }
}

/// A stream of events from a queue.
#[pyclass(frozen)]
pub struct Stream {
    shared: ForkGuarded<StreamState>,
    table: Py<EventTable>,
}

impl Stream {
    /// Creates a stream of the events of one run, or of all events. With a token, the stream serves an event
    /// loop; otherwise it serves a thread.
    pub fn new(stream: EventStream, table: Py<EventTable>, token: Option<WakeToken>) -> Self {
        let notifier = Arc::<Notifier>::default();
        let waker = match token {
            Some(token) => Waker::from(Arc::new(token)),
            None => Waker::from(notifier.clone()),
        };
        let inner = Inner { stream, ready: VecDeque::new(), is_error_raised: false };
        Stream { shared: ForkGuarded::new(StreamState { inner: Mutex::new(inner), notifier, waker }), table }
    }

    /// Raises the failure of the stream after its end, once.
    fn end(&self, py: Python<'_>, shared: &StreamState) -> PyResult<()> {
        let error = {
            let mut inner = shared.inner();
            let told = std::mem::replace(&mut inner.is_error_raised, true);
            inner.stream.outcome().and_then(|over| over.as_ref().err()).filter(|_| !told).cloned()
        };
        error.map_or(Ok(()), |error| Err(errors::from_core(py, &error)))
    }

    /// Returns the next available event, if there is one.
    #[inline]
    pub fn next_ready<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let event = self.shared.get(py)?.inner().ready.pop_front();
        event.map(|event| self.table.get().make(py, event)).transpose()
    }

    /// Returns `true` if `fill` found events that have not been taken.
    #[inline]
    pub fn has_ready(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.shared.get(py)?.inner().ready.is_empty())
    }

    fn last<'py>(&self, py: Python<'py>, shared: &StreamState) -> PyResult<Option<Bound<'py, PyAny>>> {
        let last = shared.inner().stream.last().cloned();
        last.map(|event| self.table.get().make(py, event)).transpose()
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Returns the next event; blocks until there is one. At the end, raises a failure once and then stops
    /// the iteration.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(event) = self.next_ready(py)? {
            return Ok(Some(event));
        }
        let shared = self.shared.get(py)?;
        loop {
            let seen_count = shared.notifier.count();
            match self.fill(py)? {
                Some(true) => {
                    if let Some(event) = self.next_ready(py)? {
                        return Ok(Some(event));
                    }
                }
                Some(false) => return Ok(None),
                None => {
                    shared.notifier.wait(py, seen_count, None)?;
                }
            }
        }
    }

    /// Checks for events without blocking, unless some are available already. Returns `true` if events are
    /// available. At the end, raises a failure once and then returns `false`. Returns `None` if no event has
    /// arrived yet; the token is posted when the next one arrives.
    pub fn fill(&self, py: Python<'_>) -> PyResult<Option<bool>> {
        let shared = self.shared.get(py)?;
        let mut inner = shared.inner();
        if !inner.ready.is_empty() {
            return Ok(Some(true));
        }
        match shared.fill(&mut inner) {
            Poll::Pending => Ok(None),
            Poll::Ready(0) => {
                drop(inner);
                self.end(py, shared).map(|()| Some(false))
            }
            Poll::Ready(_) => Ok(Some(true)),
        }
    }

    /// Takes the events that `fill` found, at most `most` of them.
    #[pyo3(signature = (most=None))]
    fn take<'py>(&self, py: Python<'py>, most: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let shared = self.shared.get(py)?;
        // The buffer is moved out of the lock, and put back for later events.
        let mut ready = match most {
            None => std::mem::take(&mut shared.inner().ready),
            Some(most) => {
                let ready = &mut shared.inner().ready;
                ready.drain(..most.min(ready.len())).collect()
            }
        };
        let table = self.table.get();
        let made: PyResult<Vec<_>> = ready.drain(..).map(|event| table.make(py, event)).collect();
        let mut inner = shared.inner();
        if inner.ready.is_empty() {
            inner.ready = ready;
        }
        drop(inner);
        PyList::new(py, made?)
    }

    /// Returns the next events; blocks until there is one. At the end, raises a failure once and then returns
    /// an empty list. Returns `None` if no event arrives within `seconds`.
    #[pyo3(signature = (seconds=None))]
    fn batch<'py>(&self, py: Python<'py>, seconds: Option<f64>) -> PyResult<Option<Bound<'py, PyList>>> {
        let notifier = &self.shared.get(py)?.notifier;
        let deadline: Option<Instant> = deadline(seconds);
        loop {
            let seen_count = notifier.count();
            match self.fill(py)? {
                Some(true) => {
                    let events = self.take(py, None)?;
                    if !events.is_empty() {
                        return Ok(Some(events));
                    }
                }
                Some(false) => return Ok(Some(PyList::empty(py))),
                None if notifier.wait(py, seen_count, deadline)? => {}
                None => return Ok(None),
            }
        }
    }

    /// Drops the available events. Returns `true` at the end. Otherwise the token is posted when there are
    /// more events to drop.
    fn skip(&self, py: Python<'_>) -> PyResult<bool> {
        let shared = self.shared.get(py)?;
        loop {
            let mut inner = shared.inner();
            inner.ready.clear();
            match shared.fill(&mut inner) {
                Poll::Pending => return Ok(false),
                Poll::Ready(0) => return Ok(true),
                Poll::Ready(_) => {}
            }
        }
    }

    /// Drops events until the end; blocks for at most `seconds`. Returns `true` at the end.
    #[pyo3(signature = (seconds=None))]
    fn wait_end(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<bool> {
        let deadline: Option<Instant> = deadline(seconds);
        let notifier = &self.shared.get(py)?.notifier;
        loop {
            let seen_count = notifier.count();
            if self.skip(py)? {
                return Ok(true);
            }
            if !notifier.wait(py, seen_count, deadline)? {
                return Ok(false);
            }
        }
    }

    /// Returns the result of the run: the cause of its end; its last event; `true` if certainly no further
    /// event follows; `true` after an abort; the failure. Raises if the run did not end by itself. Returns
    /// `None` before the end.
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Option<RunCompletion<'py>>> {
        let shared = self.shared.get(py)?;
        let ended = shared.inner().stream.ended().map(|ended| ended.cloned().map_err(Error::clone));
        let ended = match ended {
            None => return Ok(None),
            Some(Err(error)) => return Err(errors::from_core(py, &error)),
            Some(Ok(ended)) => ended,
        };
        let by = match ended.ended_by {
            EndedBy::Answer => "answer",
            EndedBy::Handled => "handled",
            EndedBy::Stopped => "stopped",
            EndedBy::Idle => "idle",
            _ => "event",
        };
        let failed = |failure| errors::from_core(py, &Error::RunFailed(Box::new(failure)));
        let failure = ended.failure.map(|failure| failed(failure).into_value(py).into_any());
        Ok(Some((by, self.last(py, shared)?, ended.confirmed, ended.aborted, failure)))
    }
}
