//! Runs: the work that a prompt starts, and the events of a connection.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::Stream;

use crate::client::RpcClient;
use crate::connection::{Connection, EventFrame, EventQueue, RawAnswer, RunQueue};
use crate::error::Error;
use crate::framing::FrameText;
use crate::queue::Ended;
use crate::run_tracker::{EndedBy, Outcome};
use crate::spec::{Answer, Dialect};
use crate::termination::{Cause, Termination};

/// An event as it came: the text, and the typed view on demand.
#[derive(Debug)]
pub struct RawEvent<D: Dialect> {
    event: EventFrame,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for RawEvent<D> {
    fn clone(&self) -> Self {
        RawEvent { event: self.event.clone(), dialect: PhantomData }
    }
}

impl<D: Dialect> RawEvent<D> {
    fn new(event: EventFrame) -> Self {
        RawEvent { event, dialect: PhantomData }
    }

    /// The event's type.
    pub fn kind(&self) -> &str {
        &self.event.kind
    }

    /// The event's object as it came, without its envelope.
    pub fn body(&self) -> &FrameText {
        self.event.body()
    }

    /// The whole line as it came. Writing it out again changes not a byte.
    pub fn frame(&self) -> &FrameText {
        &self.event.frame
    }

    /// The typed event.
    ///
    /// # Errors
    /// [`Error::Decode`] where a declared event does not fit its declaration.
    pub fn decode(&self) -> Result<D::Event, Error> {
        crate::wire::decode(self.event.body().as_str()).map_err(|error| Error::Decode {
            what: format!("the event `{}`", self.event.kind),
            reason: error.to_string(),
            frame: self.event.frame.clone(),
        })
    }

    /// Whether the declaration names the event.
    pub fn is_known(&self) -> bool {
        self.event.kind.spec().is_some()
    }
}

pub(crate) fn ended(reason: Ended<Result<Outcome, Error>>) -> Result<Outcome, Error> {
    match reason {
        Ended::Closed(result) => result,
        Ended::Detached { dropped } => Err(Error::Detached { dropped }),
        Ended::Abandoned => Err(Error::Terminated(Termination::new(Cause::Closed))),
    }
}

/// All events of a connection, from the moment it was asked for.
///
/// Ends with an error when the connection is over. Dropping it stops listening.
pub struct Events<D: Dialect> {
    // Keeps the connection alive as long as somebody listens.
    _connection: Arc<Connection>,
    queue: EventQueue,
    over: bool,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Events<D> {
    pub(crate) fn new(connection: Arc<Connection>, queue: EventQueue) -> Self {
        Events { _connection: connection, queue, over: false, dialect: PhantomData }
    }

    /// The next event as it came; after the end of the connection its termination, once, and then
    /// nothing.
    pub async fn next_raw(&mut self) -> Option<Result<RawEvent<D>, Error>> {
        if self.over {
            return None;
        }
        match self.queue.recv().await {
            Ok(event) => Some(Ok(RawEvent::new(event))),
            Err(reason) => {
                self.over = true;
                ended(reason).err().map(Err)
            }
        }
    }

    /// The next event; after the end of the connection its termination, once, and then nothing.
    pub async fn next(&mut self) -> Option<Result<D::Event, Error>> {
        Some(self.next_raw().await?.and_then(|event| event.decode()))
    }
}

impl<D: Dialect> std::fmt::Debug for Events<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("over", &self.over).finish_non_exhaustive()
    }
}

/// The work that a prompt started.
///
/// Gives the events from the moment the prompt was sent until the run is over: retries, automatic
/// compactions and reminders that start it again are part of it. Dropping the handle stops
/// listening and nothing else: the agent goes on working (use `abort` to stop it).
pub struct Run<D: Dialect> {
    client: RpcClient<D>,
    queue: EventQueue,
    token: u64,
    command: &'static str,
    session: String,
    answer: Option<RawAnswer>,
    last: Option<RawEvent<D>>,
    over: Option<Result<Outcome, Error>>,
}

/// How a run ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunResult<D: Dialect> {
    /// What ended it.
    pub ended_by: EndedBy,
    /// Whether it is certain that nothing follows. False where the agent was asked for its state after the last event,
    /// as clients of the pi family do, and did not tell it within five seconds.
    pub confirmed: bool,
    /// The last event that could be the end, as `agent_end` in the pi family.
    pub last: Option<RawEvent<D>>,
}

impl<D: Dialect> Run<D> {
    pub(crate) async fn begin(
        client: RpcClient<D>,
        command: &'static str,
        queue: RunQueue,
        session: String,
        timeout: Option<Duration>,
    ) -> Result<Self, Error> {
        let RunQueue { events, answer, token } = queue;
        let mut run =
            Run { client, queue: events, token, command, session, answer: None, last: None, over: None };
        let on_completion = D::SPEC.command(command).is_some_and(|spec| spec.answer == Answer::Done);
        if on_completion {
            // The answer is the end of the run; the run's queue is closed with it.
            return Ok(run);
        }
        let limit = timeout.or_else(|| run.client.connection().shared.timeout(command));
        let answer = match limit {
            None => answer.await,
            Some(after) => tokio::time::timeout(after, answer)
                .await
                .map_err(|_| run.client.connection().shared.late(command, after))?,
        };
        let answer = answer.unwrap_or_else(|_| Err(Error::Terminated(Termination::new(Cause::Closed))))?;
        run.answer = Some(answer);
        Ok(run)
    }

    /// The client that the run belongs to.
    pub fn client(&self) -> &RpcClient<D> {
        &self.client
    }

    /// The session that the run belongs to; empty in dialects that have one session at a time.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The wire name of the command that started the run.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// The raw data of the answer that accepted the run, where there is any.
    pub fn answer(&self) -> Option<&FrameText> {
        self.answer.as_ref()?.data.as_ref()
    }

    /// The next event as it came; nothing when the run is over or has failed ([`Run::result`] says
    /// how).
    pub async fn next_raw(&mut self) -> Option<RawEvent<D>> {
        std::future::poll_fn(|context| self.poll_raw(context)).await
    }

    /// The next event; nothing when the run is over. A failure of the run comes once, as an error.
    pub async fn next(&mut self) -> Option<Result<D::Event, Error>> {
        let was_over = self.over.is_some();
        match self.next_raw().await {
            Some(event) => Some(event.decode()),
            None if was_over => None,
            None => match &self.over {
                Some(Err(error)) => Some(Err(error.clone())),
                _ => None,
            },
        }
    }

    /// Waits for the end of the run. Events that were not read are dropped, so this never hangs on
    /// a full queue; every event of the run has been handed over (or dropped) before it resolves.
    ///
    /// # Errors
    /// [`Error::Refused`] where the agent refused the prompt after all, [`Error::Terminated`] where
    /// the connection ended first, [`Error::Detached`] where this handle was cut off.
    pub async fn result(mut self) -> Result<RunResult<D>, Error> {
        while self.next_raw().await.is_some() {}
        let last = self.last.take();
        match self.over.take() {
            Some(Ok(Outcome { ended_by, confirmed })) => Ok(RunResult { ended_by, confirmed, last }),
            Some(Err(error)) => Err(error),
            None => Err(Error::Terminated(Termination::new(Cause::Closed))),
        }
    }

    fn poll_raw(&mut self, context: &mut Context<'_>) -> Poll<Option<RawEvent<D>>> {
        if self.over.is_some() {
            return Poll::Ready(None);
        }
        match ready!(self.queue.poll_recv(context)) {
            Ok(event) => {
                let event = RawEvent::new(event);
                if event.event.may_end() {
                    self.last = Some(event.clone());
                }
                Poll::Ready(Some(event))
            }
            Err(reason) => {
                self.over = Some(ended(reason));
                Poll::Ready(None)
            }
        }
    }
}

impl<D: Dialect> Stream for Run<D> {
    type Item = Result<D::Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let run = &mut *self;
        let was_over = run.over.is_some();
        Poll::Ready(match ready!(run.poll_raw(context)) {
            Some(event) => Some(event.decode()),
            None if was_over => None,
            None => match &run.over {
                Some(Err(error)) => Some(Err(error.clone())),
                _ => None,
            },
        })
    }
}

impl<D: Dialect> Drop for Run<D> {
    fn drop(&mut self) {
        self.client.connection().shared.forget_run(self.token);
    }
}

impl<D: Dialect> std::fmt::Debug for Run<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("command", &self.command)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
