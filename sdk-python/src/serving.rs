//! The serving side of an agent in Python. Commands are passed to a Python handler, and its responses,
//! events and questions are sent to the client.
//!
//! The Rust core does framing, correlation, scheduling and validation. Parameters reach Python only if
//! they fit their declaration, and answers and events leave only if they fit theirs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::framing::FrameText;
use agentese::serve::{self, CommandError, Dispatch};
use agentese::spec::Dialect;
use agentese::transport::{self, Transport};
use agentese::wire::{Envelope, NamedUnion, ReplyUnion};
use agentese::{omp, opal, operator, pi, pisces};
use futures::FutureExt;
use futures::future::BoxFuture;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use serde::ser::{Serialize, SerializeMap, Serializer};
use tokio::sync::oneshot;

use crate::fork_guarded::ForkGuarded;
use crate::mailbox::{Mailbox, WakeToken};
use crate::operation::{Operation, Outcome};
use crate::record::Record;
use crate::{errors, runtime};

type Answer = Result<Option<String>, CommandError>;

/// A call whose dialect is not part of its type.
trait AnyCall: Send + Sync {
    fn emit(&self, body: String) -> Result<BoxFuture<'static, ()>, String>;
    fn ask(
        &self,
        method: &str,
        params: &str,
        timeout: Option<Duration>,
    ) -> Result<BoxFuture<'static, Option<String>>, String>;
    fn answer(&self, data: Option<&str>) -> Result<(), String>;
}

struct TypedCall<D: Dialect> {
    call: serve::Call<D, D::Reply>,
    command: &'static str,
}

impl<D: Dialect> AnyCall for TypedCall<D> {
    fn emit(&self, body: String) -> Result<BoxFuture<'static, ()>, String> {
        let _: D::Event = serde_json::from_str(&body)
            .map_err(|error| format!("the event does not fit its declaration: {error}"))?;
        let emitter = self.call.emitter().clone();
        // The event is queued at once, so that the order is fixed. Only a sender with too much unwritten
        // output waits.
        emitter.emit_body_now(body);
        Ok(async move { emitter.room().await }.boxed())
    }

    fn ask(
        &self,
        method: &str,
        params: &str,
        timeout: Option<Duration>,
    ) -> Result<BoxFuture<'static, Option<String>>, String> {
        let dialog = D::Dialog::decode(method, params, Envelope::NONE)
            .ok_or_else(|| format!("this dialect has no dialog `{method}`"))?
            .map_err(|error| error.to_string())?;
        let emitter = self.call.emitter().clone();
        Ok(async move {
            let members = emitter.ask_dialog(&dialog, timeout).await?;
            Some(serde_json::Value::Object(members).to_string())
        }
        .boxed())
    }

    fn answer(&self, data: Option<&str>) -> Result<(), String> {
        self.call.answer(reply::<D>(self.command, data)?);
        Ok(())
    }
}

fn reply<D: Dialect>(command: &str, data: Option<&str>) -> Result<D::Reply, String> {
    D::Reply::decode(command, data)
        .ok_or_else(|| format!("this dialect has no command `{command}`"))?
        .map_err(|error| format!("the answer to `{command}` does not fit its declaration: {error}"))
}

struct Params<'a, N>(&'a N);

impl<N: NamedUnion> Serialize for Params<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.encode(&mut map)?;
        map.end()
    }
}

#[derive(Default)]
struct State {
    calls: Vec<ServerCall>,
    stopping: bool,
}

/// The queue of commands that Python has not taken yet.
struct CommandQueue {
    state: Mutex<State>,
    token: WakeToken,
}

impl CommandQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PythonDispatch(Arc<CommandQueue>);

impl<D: Dialect> Dispatch<D> for PythonDispatch {
    fn dispatch(
        self: Arc<Self>,
        command: D::Command,
        call: serve::Call<D, D::Reply>,
    ) -> BoxFuture<'static, Result<D::Reply, CommandError>> {
        let name = command.name();
        let params = serde_json::to_string(&Params(&command)).unwrap_or_default();
        let (sender, receiver) = oneshot::channel();
        let call: Box<dyn AnyCall> = Box::new(TypedCall { call, command: name });
        let params = FrameText::from(params);
        let open = OpenCall { command: name, params, call, answer: Mutex::new(Some(sender)) };
        self.0.state().calls.push(ServerCall { open: ForkGuarded::new(open) });
        self.0.token.post();
        async move {
            match receiver.await {
                Ok(Ok(data)) => reply::<D>(name, data.as_deref()).map_err(CommandError::new),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(CommandError::new(format!("`{name}` was stopped"))),
            }
        }
        .boxed()
    }

    fn shut_down(self: Arc<Self>) -> BoxFuture<'static, ()> {
        self.0.state().stopping = true;
        self.0.token.post();
        futures::future::ready(()).boxed()
    }

    fn wait_until_idle(self: Arc<Self>) -> BoxFuture<'static, ()> {
        futures::future::ready(()).boxed()
    }
}

async fn serve_one<D: Dialect>(transport: Transport, queue: Arc<CommandQueue>) {
    let options = serve::Options::default();
    serve::serve_with::<D, PythonDispatch>(transport, Arc::new(PythonDispatch(queue)), options, |_| {}).await;
}

/// A server for one client.
#[pyclass(frozen)]
pub struct Server {
    queue: ForkGuarded<Arc<CommandQueue>>,
}

#[pymethods]
impl Server {
    /// Serves this process's stdin and stdout, or a connected Unix socket. The token `calls` is posted when
    /// commands arrive, and `ended` after the client has disconnected.
    #[staticmethod]
    #[pyo3(signature = (dialect, mailbox, calls, ended, socket=None))]
    fn start(
        py: Python<'_>,
        dialect: &str,
        mailbox: &Bound<'_, Mailbox>,
        calls: u64,
        ended: u64,
        socket: Option<crate::transport::Socket>,
    ) -> PyResult<(Self, Operation)> {
        let spec = agentese::dynamic::spec(dialect).map_err(|error| errors::from_core(py, &error))?;
        let queue =
            Arc::new(CommandQueue { state: Mutex::default(), token: mailbox.get().token(py, calls)? });
        let ended = mailbox.get().token(py, ended)?;
        let _runtime = runtime::handle().enter();
        let transport = match socket {
            Some(socket) => crate::transport::socket(socket)?,
            None => transport::guard_stdio()?,
        };
        let serving: BoxFuture<'static, ()> = match spec.name {
            "omp" => serve_one::<omp::Omp>(transport, queue.clone()).boxed(),
            "pisces" => serve_one::<pisces::Pisces>(transport, queue.clone()).boxed(),
            "operator" => serve_one::<operator::Operator>(transport, queue.clone()).boxed(),
            "opal" => serve_one::<opal::Opal>(transport, queue.clone()).boxed(),
            _ => serve_one::<pi::Pi>(transport, queue.clone()).boxed(),
        };
        let work = async move {
            serving.await;
            Ok(Outcome::Data(None))
        };
        Ok((Server { queue: ForkGuarded::new(queue) }, Operation::start(Some(ended), work)))
    }

    /// Takes the waiting commands. The flag is `true` if running work should be stopped.
    fn calls(&self, py: Python<'_>) -> PyResult<(Vec<ServerCall>, bool)> {
        let mut state = self.queue.get(py)?.state();
        Ok((std::mem::take(&mut state.calls), state.stopping))
    }
}

struct OpenCall {
    command: &'static str,
    params: FrameText,
    call: Box<dyn AnyCall>,
    answer: Mutex<Option<oneshot::Sender<Answer>>>,
}

/// A command in progress.
#[pyclass(frozen)]
pub struct ServerCall {
    open: ForkGuarded<OpenCall>,
}

impl OpenCall {
    fn settle(&self, answer: Answer) {
        let sender = self.answer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            let _ = sender.send(answer);
        }
    }
}

fn encode_error(py: Python<'_>, reason: &str) -> PyErr {
    errors::encode(py, reason)
}

#[pymethods]
impl ServerCall {
    /// The command's wire name.
    #[getter]
    fn command<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, self.open.get(py)?.command))
    }

    /// Returns the parameters as an instance of that class.
    fn params<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        Record::make(class, self.open.get(class.py())?.params.clone())
    }

    /// Sends the response before the handler has ended. Raises if the data does not fit its declaration.
    #[pyo3(signature = (data=None))]
    fn answer(&self, py: Python<'_>, data: Option<&str>) -> PyResult<()> {
        self.open.get(py)?.call.answer(data).map_err(|reason| encode_error(py, &reason))
    }

    /// Ends the command after its handler has ended.
    #[pyo3(signature = (data=None))]
    fn finish(&self, py: Python<'_>, data: Option<String>) -> PyResult<()> {
        self.open.get(py)?.settle(Ok(data));
        Ok(())
    }

    /// Rejects the command.
    #[pyo3(signature = (message, code=None, data=None))]
    fn reject(&self, py: Python<'_>, message: String, code: Option<i64>, data: Option<&str>) -> PyResult<()> {
        let mut error = CommandError::new(message);
        error.code = code;
        error.data = data.and_then(|data| serde_json::from_str(data).ok());
        self.open.get(py)?.settle(Err(error));
        Ok(())
    }

    /// Sends an event. The operation is done when there is room for more output. Raises if the event does
    /// not fit its declaration.
    fn emit(
        &self,
        py: Python<'_>,
        body: String,
        mailbox: &Bound<'_, Mailbox>,
        token: u64,
    ) -> PyResult<Operation> {
        let token = mailbox.get().token(py, token)?;
        let room = self.open.get(py)?.call.emit(body).map_err(|reason| encode_error(py, &reason))?;
        let work = async move {
            room.await;
            Ok(Outcome::Data(None))
        };
        Ok(Operation::start(Some(token), work))
    }

    /// Sends a question or a notice. The outcome of the operation is the answer's members.
    #[pyo3(signature = (method, params, timeout, mailbox, token))]
    fn ask(
        &self,
        py: Python<'_>,
        method: &str,
        params: &str,
        timeout: Option<f64>,
        mailbox: &Bound<'_, Mailbox>,
        token: u64,
    ) -> PyResult<Operation> {
        let timeout = timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let token = mailbox.get().token(py, token)?;
        let asked = self.open.get(py)?.call.ask(method, params, timeout);
        let asked = asked.map_err(|reason| encode_error(py, &reason))?;
        let work = async move { Ok(Outcome::Data(asked.await.map(FrameText::from))) };
        Ok(Operation::start(Some(token), work))
    }
}
