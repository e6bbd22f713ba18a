//! Streams of neutral events: of one run, and of the whole connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::Stream;
use serde_json::{Map, Value};

use super::agent::{Agent, read};
use super::convert;
use super::event::Event;
use super::tracker::EventReceiver;
use crate::client::Limit;
use crate::dynamic::{self, EndedRun, EventStream};
use crate::error::Error;
use crate::generated::intents::Intent;
use crate::outcome::RunFailure;
use crate::run_tracker::EndedBy;
use crate::termination::{Cause, Termination};
use crate::view::{Message, Role};

/// All events from the subscription on. This [`Stream`] ends with an error if the connection ends, or if more
/// than 64 MiB of events are unread.
pub struct Events {
    client: dynamic::Client,
    receiver: EventReceiver,
    is_over: bool,
}

impl Events {
    pub(super) fn new(client: dynamic::Client, receiver: EventReceiver) -> Self {
        Events { client, receiver, is_over: false }
    }

    /// Returns the next event. At the end, returns the reason once as an error, then `None`. Dropping the
    /// future loses no event.
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
        if let Some(event) = ready!(self.receiver.poll(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        self.is_over = true;
        let error = match self.receiver.cut_off() {
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

/// The work that a prompt started, as a stream of events. It includes retries and compactions. Dropping the run
/// ends only the subscription, and the agent continues.
pub struct Run {
    agent: Agent,
    raw: EventStream,
    receiver: EventReceiver,
    results: Map<String, Value>,
    is_over: bool,
    /// `true` if the caller has received the failure of the run.
    failure_returned: bool,
}

/// Result of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// Cause of the end.
    pub ended_by: EndedBy,
    /// `true` if it is certain that no event of the run follows; see [`crate::RunResult`].
    pub confirmed: bool,
    /// The model's last message, with usage, stop reason and error if present.
    pub message: Option<Arc<Message>>,
    /// `true` if any client or the user aborted the run. An abort is not a failure.
    pub aborted: bool,
    /// Reason why the run failed. Only [`Run::wait`] returns such a result; [`Run::result`] fails instead.
    pub failure: Option<RunFailure>,
}

impl RunResult {
    /// Returns the text of the model's last message.
    #[must_use]
    pub fn text(&self) -> String {
        self.message.as_ref().map(|message| message.text()).unwrap_or_default()
    }
}

impl Run {
    pub(super) fn new(
        agent: Agent,
        raw: EventStream,
        receiver: EventReceiver,
        results: Map<String, Value>,
    ) -> Self {
        Run { agent, raw, receiver, results, is_over: false, failure_returned: false }
    }

    /// Returns the agent of the run.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the outcome of the prompt that the agent reported: `started`, `queued`, or `handled` if no run
    /// follows.
    #[must_use]
    pub fn outcome(&self) -> Option<&str> {
        self.results.get("outcome")?.as_str()
    }

    /// Returns the next event, or `None` at the end of the run. A failure of the run is returned once, as an
    /// error. Dropping the future loses no event.
    pub async fn next(&mut self) -> Option<Result<Event, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        if !self.is_over {
            // The neutral events of a frame are queued before the run's own stream yields the frame.
            while let Poll::Ready(event) = self.raw.poll_event(context) {
                if event.is_none() {
                    self.is_over = true;
                    // Queues the events for the end of the connection.
                    let _ = self.agent.conversation();
                    break;
                }
            }
        }
        if self.is_over {
            return Poll::Ready(self.receiver.ready());
        }
        match self.receiver.poll(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            // No further event follows; the run's own stream has the reason.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// Waits for the end of the run. Unread events are dropped.
    ///
    /// # Errors
    /// [`Error::RunFailed`] if the request to the model failed, after the agent's own retries; otherwise as
    /// [`Run::wait`].
    pub async fn result(self) -> Result<RunResult, Error> {
        let result = self.wait().await?;
        match result.failure {
            Some(failure) => Err(Error::RunFailed(Box::new(failure))),
            None => Ok(result),
        }
    }

    /// Waits for the end of the run as [`Run::result`] does, and returns a failed run as a result.
    ///
    /// # Errors
    /// [`Error::Refused`] if the agent rejected the prompt after it had accepted it, [`Error::Terminated`] if
    /// the connection ended first.
    pub async fn wait(mut self) -> Result<RunResult, Error> {
        while std::future::poll_fn(|context| self.poll_event(context)).await.is_some() {}
        let conversation = self.agent.conversation();
        let of_model = |message: &&Arc<Message>| message.role == Role::Assistant;
        match self.raw.ended() {
            Some(Ok(EndedRun { ended_by: by, confirmed, aborted, failure })) => Ok(RunResult {
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

impl Agent {
    /// Subscribes to all events from now on.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(self.shared.client.clone(), self.shared.tracker.subscribe())
    }

    /// Starts a run.
    pub(super) async fn start(&self, intent: Intent, params: Map<String, Value>) -> Result<Run, Error> {
        let mapping = self.mapping(intent, &params)?;
        let members = self.members(mapping, &params).await?;
        let changes = self.shared.tracker.subscribe();
        let text = Value::Object(members.clone()).to_string();
        let client = &self.shared.client;
        let (events, accepted) =
            client.start_limited(&mapping.command, &text, Limit::Default, self.limits)?;
        let data = read(&mapping.command, accepted.await?)?;
        let results = convert::results(self.shared.table, mapping, members, data);
        Ok(Run::new(self.clone(), events, changes, results))
    }
}

impl Stream for Run {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = ready!(self.poll_event(context)) {
            return Poll::Ready(Some(Ok(event)));
        }
        let was_returned = std::mem::replace(&mut self.failure_returned, true);
        let failed = self.raw.outcome().and_then(|over| over.as_ref().err()).filter(|_| !was_returned);
        Poll::Ready(failed.cloned().map(Err))
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
