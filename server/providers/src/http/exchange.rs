//! One request and its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{BoxFuture, Either};
use futures::stream::{self, BoxStream};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Response, Url};
use tokio::sync::Notify;

use agentese_server_models::http::{KEEPING, MOST_REDIRECTS, cause};

use super::body;
use super::repeat::Refused;
use super::sender::Sender;
use super::sse::{EventKind, Events, Rest, Unreadable};
use crate::apis::{
    Api, OtherForms, Reader, StreamEventBuilder, Wire, error_in_json, error_in_text, named_error,
};
use crate::draft::{Draft, Refusal};
use crate::key::Secrets;
use crate::{Failure, FailureKind, StreamEvent, excerpt};

/// Message for a cut connection, the same as pi's.
const TERMINATED: &str = "terminated";

/// Number of bytes that are read of an answer that is no stream.
const LONGEST_ERROR: usize = 64 * 1024;

/// A prepared request with the reader of its answer.
pub(crate) struct Exchange {
    pub api: &'static dyn Api,
    pub wire: Wire,
    pub reader: Box<dyn Reader>,
    pub secrets: Secrets,
    /// `true` if a request that was not accepted is sent again.
    pub repeats: bool,
    /// Parts of the request that the server receives in their other form.
    pub forms: OtherForms,
    pub draft: Draft,
}

/// Statuses with which servers refuse a request because of its content.
const REFUSALS: &[u16] = &[400, 422];

impl Exchange {
    /// Changes the parts that a refusal names to their other form. Returns false if the refusal names no part, or only
    /// parts changed before.
    fn change(&mut self, status: Option<u16>, failure: &Failure, body: &str) -> bool {
        let is_named = status.is_some_and(|status| REFUSALS.contains(&status));
        if !is_named || failure.kind != FailureKind::BadRequest {
            return false;
        }
        let refusal = Refusal { body, text: &failure.text };
        let Some((wire, forms)) = self.draft.other_form(&refusal, &self.wire, &self.forms) else {
            return false;
        };
        (self.wire, self.forms) = (wire, forms);
        true
    }
}

/// A future exchange, which may have to wait for a key.
pub(crate) type Prepare = BoxFuture<'static, Result<Exchange, Failure>>;

/// Prepares a request (which may wait for a key), sends it and reads the answer. The stream ends with `Done` or
/// `Error`. Dropping the stream ends the request.
pub(crate) fn answer(
    sender: Sender,
    begins_when_sent: bool,
    prepare: Prepare,
) -> BoxStream<'static, StreamEvent> {
    let mut said = StreamEventBuilder::default();
    if begins_when_sent {
        said.start();
    }
    let state = State { sender, said, secrets: Secrets::default(), phase: Phase::Prepare(prepare) };
    stream::unfold(state, |mut state| async move {
        loop {
            if let Some(mut event) = state.said.take() {
                if let StreamEvent::Error(failure) = &mut event {
                    failure.text = state.secrets.hidden(&failure.text);
                }
                return Some((event, state));
            }
            if state.said.is_over() {
                return None;
            }
            if let Err(failure) = state.step().await {
                state.said.fail(failure);
            }
        }
    })
    .boxed()
}

struct State {
    sender: Sender,
    said: StreamEventBuilder,
    secrets: Secrets,
    phase: Phase,
}

enum Phase {
    Prepare(Prepare),
    Send(Box<Exchange>),
    Read(Box<Reading>),
    Over,
}

/// The response during reading.
struct Reading {
    reader: Box<dyn Reader>,
    response: Response,
    events: Events,
    /// Timeout for the next content; other data does not prolong it.
    idle: Option<BoxFuture<'static, ()>>,
}

impl State {
    async fn step(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Prepare(prepare) => {
                let mut exchange = prepare.await?;
                self.secrets = std::mem::take(&mut exchange.secrets);
                self.phase = Phase::Send(Box::new(exchange));
            }
            Phase::Send(mut exchange) => {
                let response = self.sender.send(&mut exchange).await?;
                if !exchange.api.begins_when_sent() {
                    self.said.start();
                }
                let events = Events::default();
                let reader = exchange.reader;
                self.phase = Phase::Read(Box::new(Reading { reader, response, events, idle: None }));
            }
            Phase::Read(mut reading) => {
                let Reading { reader, response, events, idle } = &mut *reading;
                let said = &mut self.said;
                let before = said.amount();
                // Created when the wait begins, so that a slow reader on the client side does not use it up.
                let overdue = idle.get_or_insert_with(|| self.sender.idle());
                match self.sender.chunk(response, overdue).await? {
                    Some(chunk) => {
                        read(events, &chunk, &mut **reader, said).map_err(|error| {
                            let text = format!("The provider's answer cannot be read: {error}.");
                            Failure::new(FailureKind::Protocol, text)
                        })?;
                    }
                    None => finish(events, &mut **reader, said),
                }
                if said.amount() > before {
                    *idle = None;
                }
                self.phase = Phase::Read(reading);
            }
            Phase::Over => self.said.cut_off(),
        }
        Ok(())
    }
}

/// Passes the data of each event that a piece of a body completes to a reader.
pub(crate) fn read(
    events: &mut Events,
    chunk: &[u8],
    reader: &mut dyn Reader,
    said: &mut StreamEventBuilder,
) -> Result<(), Unreadable> {
    events.push(chunk, |kind, data| match kind {
        _ if said.is_over() => {}
        EventKind::Message => reader.event(data, said),
        EventKind::Error => named_error(reader, data, said),
    })
}

/// Notifies a reader of the end of the body. The answer fails for a body without events, or an error in an unfinished
/// event.
pub(crate) fn finish(events: &mut Events, reader: &mut dyn Reader, said: &mut StreamEventBuilder) {
    let failure = match events.rest() {
        Some(Rest::Text(text)) => Some(error_in_text(&text)),
        Some(Rest::Data(data)) => error_in_json(&data),
        None => None,
    };
    match failure {
        Some(failure) => said.fail(failure),
        None => reader.end(said),
    }
}

impl Sender {
    /// Sends a request, and repeats it if that may succeed, until an answer begins.
    async fn send(&self, exchange: &mut Exchange) -> Result<Response, Failure> {
        let mut url = Url::parse(&exchange.wire.url).map_err(|_| {
            let text = "The provider's base URL is not a URL.";
            Failure::new(FailureKind::BadRequest, text)
        })?;
        let client = self.client.get()?;
        let (mut repeats, mut redirects) = (0, 0);
        // Refusal of the first form, after which the request was sent in another form.
        let mut first: Option<Failure> = None;
        loop {
            let request = client
                .post(url.clone())
                .headers(exchange.wire.headers.clone())
                .header(CONTENT_TYPE, "application/json");
            let left = Arc::new(Notify::new());
            let request = body::add(request, &exchange.wire.body, &left);
            // A provider that read the request and then sends no data, or disconnects, may still process and bill it.
            // It cannot recognize a second request as the same, because no API has idempotency keys. So only a request
            // that was not accepted is sent again.
            let (refused, mut failure) = match self.sent(&left, request.send()).await? {
                Ok(response) if response.status().is_success() => {
                    if first.is_some() {
                        exchange.draft.keep(exchange.forms.clone());
                    }
                    return self.stream(response).await;
                }
                Ok(response) if redirects < MOST_REDIRECTS && is_moved(exchange, &url, &response) => {
                    url = location(&response).unwrap_or(url);
                    redirects += 1;
                    continue;
                }
                Ok(response) => {
                    let refused =
                        Refused::by(response.status().as_u16(), response.headers(), self.clock.now_ms());
                    let (failure, said) = self.refusal(exchange, response).await;
                    if exchange.change(refused.status, &failure, &said) {
                        tracing::debug!(forms = ?exchange.forms, "a request is sent in another form");
                        first.get_or_insert(failure);
                        continue;
                    }
                    (refused, failure)
                }
                Err(error) if error.is_connect() => {
                    (Refused::without_answer(), self.connection(&url, &error))
                }
                Err(error) => return Err(self.connection(&url, &error)),
            };
            // A repeat does not restore an exhausted quota.
            let may = exchange.repeats && failure.kind != FailureKind::Quota;
            let most = if may { self.settings.repeats } else { 0 };
            let Some(wait) = refused.repeat_after(repeats, most) else {
                failure.retry_after = failure.retry_after.or(refused.wait);
                // The refusal of the usual form has more detail than that of the other form.
                let first = first.filter(|_| failure.kind == FailureKind::BadRequest);
                return Err(first.unwrap_or(failure));
            };
            tracing::debug!(status = refused.status, ?wait, repeats, "a request is repeated");
            self.clock.sleep(wait).await;
            repeats += 1;
        }
    }

    /// Returns the result of a request. Fails if for too long no part of the request is sent and no answer arrives.
    /// `left` is notified of each part.
    async fn sent<T>(&self, left: &Notify, send: impl Future<Output = T>) -> Result<T, Failure> {
        let mut send = std::pin::pin!(send);
        loop {
            let mut overdue = self.idle();
            let moves = std::pin::pin!(left.notified());
            let either = futures::future::select(send.as_mut(), moves);
            match self.before(&mut overdue, either).await? {
                Either::Left((value, _)) => return Ok(value),
                Either::Right(_) => {}
            }
        }
    }

    /// Completes after the longest wait for data.
    fn idle(&self) -> BoxFuture<'static, ()> {
        self.clock.sleep(self.settings.idle_timeout)
    }

    async fn before<T>(
        &self,
        overdue: &mut BoxFuture<'static, ()>,
        future: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        match futures::future::select(std::pin::pin!(future), overdue).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right(_) => {
                let text = stalled(self.settings.idle_timeout);
                Err(Failure::new(FailureKind::Network, text))
            }
        }
    }

    async fn chunk(
        &self,
        response: &mut Response,
        overdue: &mut BoxFuture<'static, ()>,
    ) -> Result<Option<Bytes>, Failure> {
        let chunk = self.before(overdue, response.chunk()).await?;
        chunk.map_err(|error| {
            tracing::debug!(cause = cause(&error), "the connection was cut");
            Failure::new(FailureKind::Network, TERMINATED)
        })
    }

    /// Returns an answer that is a stream of events. Fails for any other answer, with its beginning in the message.
    async fn stream(&self, mut response: Response) -> Result<Response, Failure> {
        // The client removes the header for an encoding that it decodes.
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|value| *value != "identity")
        {
            let encoding = excerpt(&String::from_utf8_lossy(encoding.as_bytes()));
            let text = format!(
                "The provider answered in the encoding {encoding}, which this version does not read."
            );
            return Err(Failure::new(FailureKind::Protocol, text));
        }
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
        if !kind.contains("html") && !kind.contains("json") {
            return Ok(response);
        }
        let body = self.text(&mut response).await;
        if let Some(failure) = error_in_json(&body) {
            return Err(failure);
        }
        let text =
            format!("The provider answered with {kind} instead of a stream of events: {}", excerpt(&body));
        Err(Failure::new(FailureKind::Protocol, text))
    }

    /// Returns the failure for a refusal, and the body that the server sent.
    async fn refusal(&self, exchange: &Exchange, mut response: Response) -> (Failure, String) {
        let status = response.status();
        if status.is_redirection() {
            // The query is left out, because it may contain a key.
            let address = |to: Url| format!("{}{}", to.origin().ascii_serialization(), to.path());
            let to = location(&response).map_or_else(|| "another place".to_owned(), address);
            let text = format!(
                "{} The provider sends the request on to {to}, which is not followed.",
                status.as_u16()
            );
            return (Failure::new(FailureKind::BadRequest, text), String::new());
        }
        let body = self.text(&mut response).await;
        (exchange.api.refusal(status.as_u16(), &body), body)
    }

    /// Returns the beginning of a body, as far as it arrives.
    async fn text(&self, response: &mut Response) -> String {
        let mut body = Vec::new();
        // One timeout for the whole body, which is short.
        let mut overdue = self.idle();
        while let Ok(Some(chunk)) = self.chunk(response, &mut overdue).await {
            body.extend_from_slice(&chunk);
            if body.len() >= LONGEST_ERROR {
                body.truncate(LONGEST_ERROR);
                break;
            }
        }
        String::from_utf8_lossy(&body).into_owned()
    }

    fn connection(&self, url: &Url, error: &reqwest::Error) -> Failure {
        let through = match self.client.variable_for(url) {
            Some(variable) => format!(" through the proxy of {variable}"),
            None => String::new(),
        };
        let mut text = format!("Connection error{through}: {}", cause(error));
        if error.is_connect() && error.is_timeout() {
            let limit = self.settings.connect_timeout.as_secs_f64();
            let told = format!(
                ". No connection was made within {limit} s, the limit of the setting httpConnectTimeoutMs."
            );
            text.push_str(&told);
        }
        Failure::new(FailureKind::Network, text)
    }
}

/// Returns the address to which a provider redirects a request.
fn location(response: &Response) -> Option<Url> {
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(to).ok()
}

/// Returns whether a long request is sent on unchanged within its host; keys go to no other host. The client itself
/// sends on a short request.
fn is_moved(exchange: &Exchange, from: &Url, response: &Response) -> bool {
    let is_within = |to: Url| to.origin() == from.origin();
    KEEPING.contains(&response.status().as_u16())
        && body::is_long(&exchange.wire.body)
        && location(response).is_some_and(is_within)
}

fn stalled(limit: Duration) -> String {
    format!(
        "The provider timed out: no part of an answer came for {} s. The setting httpIdleTimeoutMs sets this limit.",
        limit.as_secs_f64()
    )
}
