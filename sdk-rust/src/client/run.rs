//! Runs: the work that a prompt starts, and the events of a connection.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;

use crate::dynamic::{self, Ended, EventStream};
use crate::error::Error;
use crate::framing::FrameText;
use crate::outcome::RunFailure;
use crate::run_tracker::EndedBy;
use crate::spec::Dialect;
use crate::termination::{Cause, Termination};

use super::RpcClient;

/// An event as it came: the text, and the typed view on demand.
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

    /// The event's type.
    pub fn kind(&self) -> &str {
        self.event.kind()
    }

    /// The event's object as it came, without its envelope.
    pub fn body(&self) -> &FrameText {
        self.event.body()
    }

    /// The whole line as it came. Writing it out again changes not a byte.
    pub fn frame(&self) -> &FrameText {
        self.event.frame()
    }

    /// The typed event.
    ///
    /// # Errors
    /// [`Error::Decode`] where a declared event does not fit its declaration.
    pub fn decode(&self) -> Result<D::Event, Error> {
        crate::wire::decode(self.event.body().as_str()).map_err(|error| Error::Decode {
            what: format!("the event `{}`", self.event.kind()),
            reason: error.to_string(),
            frame: self.event.frame().clone(),
        })
    }

    /// Whether the declaration names the event.
    pub fn is_known(&self) -> bool {
        self.event.spec().is_some()
    }
}

/// All events of a connection, from the moment it was asked for.
///
/// A [`Stream`] that ends with an error when the connection is over. Dropping it stops listening.
pub struct Events<D: Dialect> {
    events: EventStream,
    dialect: PhantomData<fn() -> D>,
}

impl<D: Dialect> Events<D> {
    pub(crate) fn new(events: EventStream) -> Self {
        Events { events, dialect: PhantomData }
    }

    /// The next event as it came; after the end of the connection its termination, once, and then
    /// nothing. Dropping the future loses nothing.
    pub async fn next_raw(&mut self) -> Option<Result<RawEvent<D>, Error>> {
        let next = std::future::poll_fn(|context| Pin::new(&mut self.events).poll_next(context)).await;
        next.map(|event| event.map(RawEvent::new))
    }

    /// The next event; after the end of the connection its termination, once, and then nothing. Dropping the future
    /// loses nothing.
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
        f.debug_struct("Events").field("over", &self.events.over()).finish_non_exhaustive()
    }
}

/// The work that a prompt started.
///
/// Gives the events from the moment the prompt was sent until the run is over: retries, automatic
/// compactions and reminders that start it again are part of it. Dropping the handle stops
/// listening and nothing else: the agent goes on working (use `abort` to stop it).
pub struct Run<D: Dialect> {
    client: RpcClient<D>,
    events: EventStream,
    command: &'static str,
    answer: Option<FrameText>,
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
    /// Whether somebody stopped the run, whoever it was. That is no failure.
    pub aborted: bool,
    /// Why the run failed, where it did; only [`Run::wait`] gives a result with a failure.
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

    /// The client that the run belongs to.
    pub fn client(&self) -> &RpcClient<D> {
        &self.client
    }

    /// The session that the run belongs to; empty in dialects that have one session at a time.
    pub fn session(&self) -> &str {
        self.events.session()
    }

    /// The wire name of the command that started the run.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// The raw data of the answer that accepted the run, where there is any.
    pub fn answer(&self) -> Option<&FrameText> {
        self.answer.as_ref()
    }

    /// The next event as it came; nothing when the run is over or has failed ([`Run::result`] says
    /// how).
    pub async fn next_raw(&mut self) -> Option<RawEvent<D>> {
        self.events.next_event().await.map(RawEvent::new)
    }

    /// The next event; nothing when the run is over. A failure of the run comes once, as an error.
    pub async fn next(&mut self) -> Option<Result<D::Event, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Waits for the end of the run. Events that were not read are dropped, so this never hangs on
    /// a full queue; every event of the run has been handed over (or dropped) before it resolves.
    ///
    /// # Errors
    /// [`Error::RunFailed`] where the request to the model failed, after the retries that the agent makes; else as
    /// [`Run::wait`].
    pub async fn result(self) -> Result<RunResult<D>, Error> {
        let result = self.wait().await?;
        match result.failure {
            Some(failure) => Err(Error::RunFailed(Box::new(failure))),
            None => Ok(result),
        }
    }

    /// Waits for the end of the run as [`Run::result`] does, and gives a run that failed as a result.
    ///
    /// After the agent has acknowledged that it stops, and tells of no new work, the run ends within
    /// [ten seconds](crate::run_tracker::STOP_WITHIN) and the time that the agent takes to tell its state.
    ///
    /// # Errors
    /// [`Error::Refused`] where the agent refused the prompt after all, [`Error::Terminated`] where
    /// the connection ended first, [`Error::Detached`] where this handle was cut off.
    pub async fn wait(mut self) -> Result<RunResult<D>, Error> {
        while self.next_raw().await.is_some() {}
        let last = self.events.last().cloned().map(RawEvent::new);
        match self.events.ended() {
            Some(Ok(Ended { by, confirmed, aborted, failure })) => Ok(RunResult {
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
            .field("over", &self.events.over())
            .finish_non_exhaustive()
    }
}
