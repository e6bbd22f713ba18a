//! Runs: the work started by a prompt, and the events of a connection.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;

use crate::dynamic::{self, EndedRun, EventStream};
use crate::error::Error;
use crate::framing::FrameText;
use crate::outcome::RunFailure;
use crate::run_tracker::EndedBy;
use crate::spec::Dialect;
use crate::termination::{Cause, Termination};
use crate::wire::Record;

use super::{RpcClient, encode};

/// An event as received. Its typed value is decoded only on demand.
#[derive(Debug)]
pub struct RawEvent<D: Dialect> {
    event: dynamic::Event,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Clone for RawEvent<D> {
    fn clone(&self) -> Self {
        RawEvent { event: self.event.clone(), dialect: PhantomData }
    }
}

impl<D: Dialect> RawEvent<D> {
    fn new(event: dynamic::Event) -> Self {
        RawEvent { event, dialect: PhantomData }
    }

    /// Returns the type of the event.
    pub fn kind(&self) -> &str {
        self.event.kind()
    }

    /// Returns the object of the event as received, without its envelope.
    pub fn body(&self) -> &FrameText {
        self.event.body()
    }

    /// Returns the whole line as received. Writing it out again preserves every byte.
    pub fn frame(&self) -> &FrameText {
        self.event.frame()
    }

    /// Decodes the event.
    ///
    /// # Errors
    /// [`Error::Decode`] if a declared event does not fit its declaration.
    pub fn decode(&self) -> Result<D::Event, Error> {
        crate::wire::decode(self.event.body().as_str()).map_err(|error| Error::Decode {
            what: format!("the event `{}`", self.event.kind()),
            reason: error.to_string(),
            frame: self.event.frame().clone(),
        })
    }

    /// Returns `true` if the declaration contains the event.
    pub fn is_known(&self) -> bool {
        self.event.spec().is_some()
    }
}

/// All events of a connection, from the subscription on.
///
/// This [`Stream`] ends with an error when the connection ends. Dropping the stream ends the subscription.
pub struct Events<D: Dialect> {
    events: EventStream,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Events<D> {
    pub(crate) fn new(events: EventStream) -> Self {
        Events { events, dialect: PhantomData }
    }

    /// Returns the next event as received. After the end of the connection, returns the termination once,
    /// then `None`. Dropping the future loses no event.
    pub async fn next_raw(&mut self) -> Option<Result<RawEvent<D>, Error>> {
        let next = std::future::poll_fn(|context| Pin::new(&mut self.events).poll_next(context)).await;
        next.map(|event| event.map(RawEvent::new))
    }

    /// Returns the next event. After the end of the connection, returns the termination once, then `None`.
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Result<D::Event, Error>> {
        Some(self.next_raw().await?.and_then(|event| event.decode()))
    }
}

impl<D: Dialect> Stream for Events<D> {
    type Item = Result<D::Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.events).poll_next(context));
        Poll::Ready(next.map(|event| RawEvent::<D>::new(event?).decode()))
    }
}

impl<D: Dialect> std::fmt::Debug for Events<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("over", &self.events.outcome()).finish_non_exhaustive()
    }
}

/// The work that a prompt started.
///
/// Yields the events from the sending of the prompt until the end of the run. Retries and automatic compactions
/// belong to the run, as do reminders that restart the work. Dropping the handle only ends the subscription:
/// the agent continues its work (use `abort` to stop it).
pub struct Run<D: Dialect> {
    client: RpcClient<D>,
    events: EventStream,
    command: &'static str,
    answer: Option<FrameText>,
}

/// Result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunResult<D: Dialect> {
    /// Cause of the end.
    pub ended_by: EndedBy,
    /// `true` if it is certain that no event of the run follows. It is `false` if the agent did not respond to
    /// a state request within five seconds. Clients of the pi family send this request after the last event.
    pub confirmed: bool,
    /// The last event that can be the end of the run, such as `agent_end` in the pi family.
    pub last: Option<RawEvent<D>>,
    /// `true` if any client or the user aborted the run. An abort is not a failure.
    pub aborted: bool,
    /// Reason why the run failed. Only [`Run::wait`] returns such a result; [`Run::result`] fails instead.
    pub failure: Option<RunFailure>,
}

impl<D: Dialect> Run<D> {
    pub(super) fn new(
        client: RpcClient<D>,
        command: &'static str,
        events: EventStream,
        answer: Option<FrameText>,
    ) -> Self {
        Run { client, events, command, answer }
    }

    /// Returns the client of the run.
    pub fn client(&self) -> &RpcClient<D> {
        &self.client
    }

    /// Returns the session of the run; empty in dialects with one session at a time.
    pub fn session(&self) -> &str {
        self.events.session()
    }

    /// Returns the wire name of the command that started the run.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Returns the raw data of the response that accepted the run, if present.
    pub fn answer(&self) -> Option<&FrameText> {
        self.answer.as_ref()
    }

    /// Returns the next event as received. Returns `None` when the run has ended or failed; [`Run::result`]
    /// returns the reason.
    pub async fn next_raw(&mut self) -> Option<RawEvent<D>> {
        self.events.next_event().await.map(RawEvent::new)
    }

    /// Returns the next event, or `None` at the end of the run. A failure of the run is returned once, as an
    /// error.
    pub async fn next(&mut self) -> Option<Result<D::Event, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Waits for the end of the run. Unread events are dropped, so a full queue cannot block this method. When
    /// the future resolves, every event of the run has been delivered or dropped.
    ///
    /// # Errors
    /// [`Error::RunFailed`] if the request to the model failed, after the agent's own retries; otherwise as
    /// [`Run::wait`].
    pub async fn result(self) -> Result<RunResult<D>, Error> {
        let result = self.wait().await?;
        match result.failure {
            Some(failure) => Err(Error::RunFailed(Box::new(failure))),
            None => Ok(result),
        }
    }

    /// Waits for the end of the run as [`Run::result`] does, and returns a failed run as a result.
    ///
    /// After an acknowledged abort without new work, the run ends within [ten
    /// seconds](crate::run_tracker::STOP_WITHIN) plus the time of one state request.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent rejected the prompt after it had accepted it. [`Error::Terminated`] if
    /// the connection ended first. [`Error::Detached`] if this handle was cut off.
    pub async fn wait(mut self) -> Result<RunResult<D>, Error> {
        while self.next_raw().await.is_some() {}
        let last = self.events.last().cloned().map(RawEvent::new);
        match self.events.ended() {
            Some(Ok(EndedRun { ended_by: by, confirmed, aborted, failure })) => Ok(RunResult {
                ended_by: *by,
                confirmed: *confirmed,
                last,
                aborted: *aborted,
                failure: failure.clone(),
            }),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::Terminated(Termination::new(Cause::Closed))),
        }
    }
}

impl<D: Dialect> RpcClient<D> {
    /// Subscribes to all events of the connection from now on, including the events of runs.
    ///
    /// # Errors
    /// [`Error::Terminated`] if the connection has ended.
    pub fn events(&self) -> Result<Events<D>, Error> {
        Ok(Events::new(self.inner.events()?))
    }

    pub(crate) async fn start<P: Record + serde::Serialize>(
        &self,
        command: &'static str,
        params: &P,
    ) -> Result<Run<D>, Error> {
        let members = encode(command, params)?;
        let (events, accepted) = self.inner.start_limited(command, &members, self.limit, self.limits)?;
        // The subscription exists during the wait for the answer, so that dropping this future removes the run.
        let answer = accepted.await?;
        Ok(Run::new(self.clone(), command, events, answer))
    }
}

impl<D: Dialect> Stream for Run<D> {
    type Item = Result<D::Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(Pin::new(&mut self.events).poll_next(context));
        Poll::Ready(next.map(|event| RawEvent::<D>::new(event?).decode()))
    }
}

impl<D: Dialect> std::fmt::Debug for Run<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("command", &self.command)
            .field("over", &self.events.outcome())
            .finish_non_exhaustive()
    }
}
