//! A connection to an agent.

use std::sync::Arc;

use agentese::dynamic::{self, Client};
use agentese::transport::Transport;
use pyo3::prelude::*;

use crate::agent_transport::AgentTransport;
use crate::fork_guarded::ForkGuarded;
use crate::frames::{Frame, FrameQueue, direction_name, frame_queue, with_stderr_queue};
use crate::mailbox::{Mailbox, WakeToken, token};
use crate::operation::{Operation, Outcome};
use crate::options::{
    CallTimeout, ConnectionOptions, ConnectionTap, Diagnostics, Program, RunLimitsTuple, limit, run_limits,
};
use crate::questions::{DialogForwarder, Question, QuestionQueue};
use crate::stream::{EventTable, Stream};
use crate::{errors, runtime, transport};

struct Inner {
    client: Arc<Client>,
    questions: Arc<QuestionQueue>,
    diagnostics: Arc<Diagnostics>,
    frames: Option<Arc<FrameQueue>>,
    watched: Option<Arc<FrameQueue>>,
}

/// The deliveries that Python requests, with the tokens that notify an event loop of them.
struct DeliveryRequest {
    dialogs: Option<u64>,
    /// The token that announces complete frames without redaction.
    watched: Option<u64>,
    /// The queue for redacted frames and lines of stderr.
    frames: Option<Arc<FrameQueue>>,
}

/// A connection to an agent. Calls may come from any thread.
#[pyclass(frozen)]
pub struct Connection {
    inner: ForkGuarded<Inner>,
    mailbox: Option<Py<Mailbox>>,
    table: Py<EventTable>,
}

impl Connection {
    fn token(&self, py: Python<'_>, number: Option<u64>) -> PyResult<Option<WakeToken>> {
        token(py, self.mailbox.as_ref(), number)
    }

    fn make(
        py: Python<'_>,
        dialect: &str,
        options: ConnectionOptions,
        table: Py<EventTable>,
        mailbox: Option<Py<Mailbox>>,
        deliveries: DeliveryRequest,
        open: impl FnOnce() -> PyResult<Result<Transport, agentese::Error>>,
    ) -> PyResult<Self> {
        let (spec, revision) = dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
        table.get().prepare(py, spec);
        let wants = options.wants;
        let mut options = options.into_core()?;
        options.revision = revision;
        let token = |number| token(py, mailbox.as_ref(), number);
        let questions = QuestionQueue::new(token(deliveries.dialogs)?);
        let frames = deliveries.frames;
        let watched_token = token(deliveries.watched)?;
        let watched = deliveries.watched.map(|_| FrameQueue::unbounded(watched_token));
        options.watch = watched.clone().map(|watched| -> Arc<dynamic::Watch> {
            Arc::new(move |direction, text| watched.push(direction_name(direction), text))
        });
        let diagnostics = Arc::<Diagnostics>::default();
        options.tap =
            Some(Arc::new(ConnectionTap { diagnostics: diagnostics.clone(), frames: frames.clone(), wants }));
        if deliveries.dialogs.is_some() {
            options.dialogs = Some(Arc::new(DialogForwarder { spec, questions: questions.clone() }));
        }
        let _runtime = runtime::handle().enter();
        let transport = open()?.map_err(|error| errors::from_core(py, &error))?;
        let client = Arc::new(Client::connect(spec, options, transport));
        runtime::track(&client);
        #[cfg(unix)]
        if let Some(pipes) = client.pipes() {
            crate::inherited::register(&pipes);
        }
        let (over, asked, seen) = (client.terminated(), questions.clone(), [frames.clone(), watched.clone()]);
        runtime::handle().spawn(async move {
            over.await;
            asked.end();
            for seen in seen.into_iter().flatten() {
                seen.end();
            }
        });
        Ok(Connection {
            inner: ForkGuarded::new(Inner { client, questions, diagnostics, frames, watched }),
            mailbox,
            table,
        })
    }
}

#[pymethods]
impl Connection {
    /// Starts a program and connects to it. If `dialogs` is given, dialogs are passed to a handler. If
    /// `frames` is given, frames are stored for an observer. The values are the tokens that announce them.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "Python gives them one by one")]
    #[pyo3(signature = (dialect, program, options, table, mailbox=None, dialogs=None, frames=None))]
    fn spawn(
        py: Python<'_>,
        dialect: &str,
        program: Program,
        options: ConnectionOptions,
        table: Py<EventTable>,
        mailbox: Option<Py<Mailbox>>,
        dialogs: Option<u64>,
        frames: Option<u64>,
    ) -> PyResult<Self> {
        let child = program.into_core()?;
        let seen = frame_queue(py, mailbox.as_ref(), frames)?;
        let child = with_stderr_queue(child, seen.as_ref().filter(|_| options.wants.stderr));
        let deliveries = DeliveryRequest { dialogs, watched: None, frames: seen };
        Self::make(py, dialect, options, table, mailbox, deliveries, || {
            Ok(Transport::from_child(child).map_err(agentese::Error::from))
        })
    }

    /// Connects over a connected socket: a Unix socket, on Windows a TCP socket.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "Python gives them one by one")]
    #[pyo3(signature = (dialect, socket, options, table, mailbox=None, dialogs=None, frames=None))]
    fn connect(
        py: Python<'_>,
        dialect: &str,
        socket: transport::Socket,
        options: ConnectionOptions,
        table: Py<EventTable>,
        mailbox: Option<Py<Mailbox>>,
        dialogs: Option<u64>,
        frames: Option<u64>,
    ) -> PyResult<Self> {
        let frames = frame_queue(py, mailbox.as_ref(), frames)?;
        let deliveries = DeliveryRequest { dialogs, watched: None, frames };
        Self::make(py, dialect, options, table, mailbox, deliveries, || transport::socket(socket).map(Ok))
    }

    /// Connects to the agent of an [`AgentTransport`]. If `watched` is given, every complete frame is
    /// stored for the method `watched`.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "Python gives them one by one")]
    #[pyo3(signature = (transport, dialect, options, table, mailbox=None, dialogs=None, watched=None))]
    fn from_transport(
        py: Python<'_>,
        transport: &AgentTransport,
        dialect: &str,
        options: ConnectionOptions,
        table: Py<EventTable>,
        mailbox: Option<Py<Mailbox>>,
        dialogs: Option<u64>,
        watched: Option<u64>,
    ) -> PyResult<Self> {
        let deliveries = DeliveryRequest { dialogs, watched, frames: transport.frames(py)? };
        Self::make(py, dialect, options, table, mailbox, deliveries, || transport.take(py).map(Ok))
    }

    /// `true` if this process inherited the connection by a fork, and cannot use it.
    #[getter]
    fn inherited(&self) -> bool {
        self.inner.is_inherited()
    }

    /// The dialect and its revision, as `NAME@REVISION`.
    #[getter]
    fn dialect(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.inner.get(py)?.client.spec().id())
    }

    /// The id of the agent's process, if it was started here.
    #[getter]
    fn process_id(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.inner.get(py)?.client.process_id())
    }

    /// The revision of the agent, if known: `NAME@REVISION`.
    #[getter]
    fn revision(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.inner.get(py)?.client.revision().map(|spec| spec.id()))
    }

    /// The number of events that were dropped for lack of a subscriber.
    #[getter]
    fn dropped_events(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner.get(py)?.client.dropped_events())
    }

    /// The termination of the connection, after its end.
    #[getter]
    fn termination<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let end = self.inner.get(py)?.client.ended();
        end.map(|end| errors::termination(py, &end)).transpose()
    }

    /// Returns the newest diagnostics, each as its kind and a text.
    fn diagnostics(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, String)>> {
        Ok(self.inner.get(py)?.diagnostics.list())
    }

    /// Sends a command with its members as JSON.
    #[pyo3(signature = (command, members, timeout=None, token=None))]
    fn call(
        &self,
        py: Python<'_>,
        command: String,
        members: String,
        timeout: Option<CallTimeout>,
        token: Option<u64>,
    ) -> PyResult<Operation> {
        let client = self.inner.get(py)?.client.clone();
        let limit = limit(timeout)?;
        Ok(Operation::start(self.token(py, token)?, async move {
            client.call(&command, &members, limit).await.map(Outcome::Data)
        }))
    }

    /// Sends a command that starts a run. Returns its events, and the response that accepts it.
    #[pyo3(signature = (command, members, timeout=None, events_token=None, answer_token=None, limits=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn start(
        &self,
        py: Python<'_>,
        command: &str,
        members: &str,
        timeout: Option<CallTimeout>,
        events_token: Option<u64>,
        answer_token: Option<u64>,
        limits: Option<RunLimitsTuple>,
    ) -> PyResult<(Stream, Operation)> {
        let client = &self.inner.get(py)?.client;
        let started = client.start_limited(command, members, limit(timeout)?, run_limits(limits)?);
        let (events, answer) = started.map_err(|error| errors::from_core(py, &error))?;
        let stream = Stream::new(events, self.table.clone_ref(py), self.token(py, events_token)?);
        let pending =
            Operation::start(self.token(py, answer_token)?, async move { answer.await.map(Outcome::Data) });
        Ok((stream, pending))
    }

    /// Subscribes to all events from now on.
    #[pyo3(signature = (token=None))]
    fn events(&self, py: Python<'_>, token: Option<u64>) -> PyResult<Stream> {
        let events = self.inner.get(py)?.client.events().map_err(|error| errors::from_core(py, &error))?;
        Ok(Stream::new(events, self.table.clone_ref(py), self.token(py, token)?))
    }

    /// Sends a line without changes.
    fn send_raw(&self, py: Python<'_>, line: &str) -> PyResult<()> {
        self.inner.get(py)?.client.send_raw(line).map_err(|error| errors::from_core(py, &error))
    }

    /// Shuts the agent down. The outcome is the termination.
    #[pyo3(signature = (token=None))]
    fn close(&self, py: Python<'_>, token: Option<u64>) -> PyResult<Operation> {
        let client = self.inner.get(py)?.client.clone();
        Ok(Operation::start(
            self.token(py, token)?,
            async move { Ok(Outcome::Terminated(client.close().await)) },
        ))
    }

    /// Waits for the end of the connection. The outcome is the termination.
    #[pyo3(signature = (token=None))]
    fn terminated(&self, py: Python<'_>, token: Option<u64>) -> PyResult<Operation> {
        let over = self.inner.get(py)?.client.terminated();
        Ok(Operation::start(self.token(py, token)?, async move { Ok(Outcome::Terminated(over.await)) }))
    }

    /// Returns the next question, blocking. Returns `None` at the end.
    fn next_question(&self, py: Python<'_>) -> PyResult<Option<Question>> {
        let questions = self.inner.get(py)?.questions.clone();
        questions.next(py)
    }

    /// Returns the next frames, blocking. Returns `None` at the end, and if no frames are stored.
    fn next_frames(&self, py: Python<'_>) -> PyResult<Option<Vec<Frame>>> {
        match self.inner.get(py)?.frames.clone() {
            Some(frames) => frames.next(py),
            None => Ok(None),
        }
    }

    /// Takes the stored frames.
    fn frames(&self, py: Python<'_>) -> PyResult<Vec<Frame>> {
        Ok(self.inner.get(py)?.frames.as_ref().map(|frames| frames.take()).unwrap_or_default())
    }

    /// Blocks until complete frames are available for `watched`. Returns `false` at the end, or if no
    /// frames are stored.
    fn wait_watched(&self, py: Python<'_>) -> PyResult<bool> {
        match self.inner.get(py)?.watched.clone() {
            Some(watched) => watched.wait(py),
            None => Ok(false),
        }
    }

    /// Takes the stored complete frames, without redaction.
    fn watched(&self, py: Python<'_>) -> PyResult<Vec<Frame>> {
        Ok(self.inner.get(py)?.watched.as_ref().map(|frames| frames.take()).unwrap_or_default())
    }

    /// Stops storing frames.
    fn stop_frames(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(frames) = &self.inner.get(py)?.frames {
            frames.stop();
        }
        Ok(())
    }

    /// The number of frames that were dropped because the observer was too slow.
    #[getter]
    fn dropped_frames(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.inner.get(py)?.frames.as_ref().map_or(0, |frames| frames.dropped()))
    }

    /// Takes the waiting questions.
    fn questions(&self, py: Python<'_>) -> PyResult<Vec<Question>> {
        Ok(self.inner.get(py)?.questions.take())
    }
}
