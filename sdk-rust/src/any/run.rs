//! Streams of neutral events: of a run, and of everything.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::Stream;
use serde_json::{Map, Value};

use super::Agent;
use super::event::Event;
use super::folded::Heard;
use crate::dynamic::{self, Ended, EventStream};
use crate::error::Error;
use crate::outcome::RunFailure;
use crate::run_tracker::EndedBy;
use crate::termination::{Cause, Termination};
use crate::view::{Message, Role};

/// Everything that happens from the moment it was asked for. A [`Stream`] that ends with an error when the connection is
/// over, or where it was not read and 64 MiB waited.
pub struct Events {
    client: dynamic::Client,
    heard: Heard,
    is_over: bool,
}

impl Events {
    pub(super) fn new(client: dynamic::Client, heard: Heard) -> Self {
        Events { client, heard, is_over: false }
    }

    /// The next event; after the end its reason, once, and then nothing. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for Events {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(event) = ready!(self.heard.poll(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        self.is_over = true;
        let error = match self.heard.cut_off() {
            Some(dropped) => Error::Detached { dropped: u64::try_from(dropped).unwrap_or(u64::MAX) },
            None => Error::Terminated(self.client.ended().unwrap_or_else(|| Termination::new(Cause::Closed))),
        };
        Poll::Ready(Some(Err(error)))
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// The work that a prompt started: gives what happens until the run is over, retries and compactions among it. Dropping it
/// stops listening and nothing else.
pub struct Run {
    agent: Agent,
    raw: EventStream,
    heard: Heard,
    results: Map<String, Value>,
    is_over: bool,
    /// Whether somebody was told how it failed.
    is_told: bool,
}

/// How a run ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// What ended it.
    pub ended_by: EndedBy,
    /// Whether it is certain that nothing follows; see [`crate::RunResult`].
    pub confirmed: bool,
    /// The model's last message, with usage, stop reason and error where it has them.
    pub message: Option<Arc<Message>>,
    /// Whether somebody stopped the run, whoever it was. That is no failure.
    pub aborted: bool,
    /// Why the run failed, where it did; only [`Run::wait`] gives a result with a failure.
    pub failure: Option<RunFailure>,
}

impl RunResult {
    /// The text of the model's last message.
    #[must_use]
    pub fn text(&self) -> String {
        self.message.as_ref().map(|message| message.text()).unwrap_or_default()
    }
}

impl Run {
    pub(super) fn new(agent: Agent, raw: EventStream, heard: Heard, results: Map<String, Value>) -> Self {
        Run { agent, raw, heard, results, is_over: false, is_told: false }
    }

    /// The agent that works on it.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// What the agent said that becomes of the words: `started`, `queued`, or `handled` where no run follows.
    #[must_use]
    pub fn outcome(&self) -> Option<&str> {
        self.results.get("outcome")?.as_str()
    }

    /// The next event; nothing when the run is over. How the run failed comes once, as an error. Dropping the future loses
    /// nothing.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if !self.is_over {
            // What the run's own events are folded into is heard before the run hears of them.
            while let Poll::Ready(event) = self.raw.poll_event(context) {
                if event.is_none() {
                    self.is_over = true;
                    // What the end of the connection changes is heard too.
                    let _ = self.agent.conversation();
                    break;
                }
            }
        }
        if self.is_over {
            return Poll::Ready(self.heard.ready());
        }
        match self.heard.poll(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            // Nobody tells anything any more; the run's own stream says why.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// Waits for the end of the run. Events that were not read are dropped.
    ///
    /// # Errors
    /// [`Error::RunFailed`] where the request to the model failed, after the retries that the agent makes; else as
    /// [`Run::wait`].
    pub async fn result(self) -> Result<RunResult, Error> {
        let result = self.wait().await?;
        match result.failure {
            Some(failure) => Err(Error::RunFailed(Box::new(failure))),
            None => Ok(result),
        }
    }

    /// Waits for the end of the run as [`Run::result`] does, and gives a run that failed as a result.
    ///
    /// # Errors
    /// [`Error::Refused`] where the agent refused the prompt after all, [`Error::Terminated`] where the connection ended
    /// first.
    pub async fn wait(mut self) -> Result<RunResult, Error> {
        while std::future::poll_fn(|context| self.poll_event(context)).await.is_some() {}
        let conversation = self.agent.conversation();
        let of_model = |message: &&Arc<Message>| message.role == Role::Assistant;
        match self.raw.ended() {
            Some(Ok(Ended { by, confirmed, aborted, failure })) => Ok(RunResult {
                ended_by: *by,
                confirmed: *confirmed,
                message: conversation.messages.iter().rfind(of_model).cloned(),
                aborted: *aborted,
                failure: failure.clone(),
            }),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::Terminated(Termination::new(Cause::Closed))),
        }
    }
}

impl Stream for Run {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = ready!(self.poll_event(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        let was_told = std::mem::replace(&mut self.is_told, true);
        let failed = self.raw.over().and_then(|over| over.as_ref().err()).filter(|_| !was_told);
        Poll::Ready(failed.cloned().map(Err))
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
