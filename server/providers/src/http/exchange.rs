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

use agentese_server_models::http::{MOST_REDIRECTS, PRESERVING_STATUSES, root_cause};

use super::body;
use super::retry::RetryHints;
use super::sender::Sender;
use super::sse::{EventKind, Rest, SseError, SseParser};
use crate::apis::{
    ActiveFallbacks, Api, Reader, StreamEventBuilder, WireRequest, error_in_json, error_in_text,
    read_error_event,
};
use crate::draft::{Draft, ErrorResponse};
use crate::key::Secrets;
use crate::{ProviderError, ProviderErrorKind, StreamEvent, excerpt};

/// Message for a connection that was closed during an answer, the same as pi's.
const TERMINATED: &str = "terminated";

/// Maximum number of bytes that are read of a response that is not a stream.
const LONGEST_ERROR: usize = 64 * 1024;

/// A prepared request with the reader of its answer.
pub(crate) struct Exchange {
    pub api: &'static dyn Api,
    pub wire: WireRequest,
    pub reader: Box<dyn Reader>,
    pub secrets: Secrets,
    /// `true` if the request may be sent again when no answer has begun.
    pub may_retry: bool,
    /// Parts of the request that the server receives in their alternative form.
    pub fallbacks: ActiveFallbacks,
    pub draft: Draft,
}

/// HTTP statuses with which servers reject a request because of its content.
const REFUSAL_STATUSES: &[u16] = &[400, 422];

impl Exchange {
    /// Changes the parts that an error response rejects to their alternative form. Returns false if it names no part,
    /// or only parts that were already changed.
    fn apply_fallbacks(&mut self, status: Option<u16>, failure: &ProviderError, body: &str) -> bool {
        let is_named = status.is_some_and(|status| REFUSAL_STATUSES.contains(&status));
        if !is_named || failure.kind != ProviderErrorKind::BadRequest {
            return false;
        }
        let refusal = ErrorResponse { body, text: &failure.text };
        let Some((wire, forms)) = self.draft.fallback_request(&refusal, &self.wire, &self.fallbacks) else {
            return false;
        };
        (self.wire, self.fallbacks) = (wire, forms);
        true
    }
}

/// A future that prepares an exchange. It may have to wait for a key.
pub(crate) type ExchangeFuture = BoxFuture<'static, Result<Exchange, ProviderError>>;

/// Prepares a request, sends it and reads the answer. The stream ends with `Done` or `Error`. Dropping the stream ends
/// the request.
pub(crate) fn answer(
    sender: Sender,
    starts_when_sent: bool,
    prepare: ExchangeFuture,
) -> BoxStream<'static, StreamEvent> {
    let mut builder = StreamEventBuilder::default();
    if starts_when_sent {
        builder.start();
    }
    let state = State { sender, builder, secrets: Secrets::default(), phase: Phase::Prepare(prepare) };
    stream::unfold(state, |mut state| async move {
        loop {
            if let Some(mut event) = state.builder.take() {
                if let StreamEvent::Error(failure) = &mut event {
                    failure.text = state.secrets.redact(&failure.text);
                }
                return Some((event, state));
            }
            if state.builder.has_ended() {
                return None;
            }
            if let Err(failure) = state.step().await {
                state.builder.fail(failure);
            }
        }
    })
    .boxed()
}

struct State {
    sender: Sender,
    builder: StreamEventBuilder,
    secrets: Secrets,
    phase: Phase,
}

enum Phase {
    Prepare(ExchangeFuture),
    Send(Box<Exchange>),
    Read(Box<ResponseStream>),
    Ended,
}

/// A response that is being read.
struct ResponseStream {
    reader: Box<dyn Reader>,
    response: Response,
    events: SseParser,
    /// Time limit for the next content. Data without content does not extend it.
    idle: Option<BoxFuture<'static, ()>>,
}

impl State {
    async fn step(&mut self) -> Result<(), ProviderError> {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Prepare(prepare) => {
                let mut exchange = prepare.await?;
                self.secrets = std::mem::take(&mut exchange.secrets);
                self.phase = Phase::Send(Box::new(exchange));
            }
            Phase::Send(mut exchange) => {
                let response = self.sender.send(&mut exchange).await?;
                if !exchange.api.starts_when_sent() {
                    self.builder.start();
                }
                let events = SseParser::default();
                let reader = exchange.reader;
                self.phase = Phase::Read(Box::new(ResponseStream { reader, response, events, idle: None }));
            }
            Phase::Read(mut reading) => {
                let ResponseStream { reader, response, events, idle } = &mut *reading;
                let builder = &mut self.builder;
                let before = builder.amount();
                // Created when the wait begins, so that a slow reader on the client side does not use it up.
                let overdue = idle.get_or_insert_with(|| self.sender.idle());
                match self.sender.chunk(response, overdue).await? {
                    Some(chunk) => {
                        read(events, &chunk, &mut **reader, builder).map_err(|error| {
                            let text = format!("The provider's answer cannot be read: {error}.");
                            ProviderError::new(ProviderErrorKind::Protocol, text)
                        })?;
                    }
                    None => finish(events, &mut **reader, builder),
                }
                if builder.amount() > before {
                    *idle = None;
                }
                self.phase = Phase::Read(reading);
            }
            Phase::Ended => self.builder.cut_off(),
        }
        Ok(())
    }
}

/// Passes the events that a chunk of the body completes to a reader.
pub(crate) fn read(
    events: &mut SseParser,
    chunk: &[u8],
    reader: &mut dyn Reader,
    builder: &mut StreamEventBuilder,
) -> Result<(), SseError> {
    events.push(chunk, |kind, data| match kind {
        _ if builder.has_ended() => {}
        EventKind::Message => reader.event(data, builder),
        EventKind::Error => read_error_event(reader, data, builder),
    })
}

/// Handles the end of a body. The answer fails if the body has no events, or if its unfinished event contains an error.
/// Otherwise the reader handles the end.
pub(crate) fn finish(events: &mut SseParser, reader: &mut dyn Reader, builder: &mut StreamEventBuilder) {
    let failure = match events.rest() {
        Some(Rest::Text(text)) => Some(error_in_text(&text)),
        Some(Rest::Data(data)) => error_in_json(&data),
        None => None,
    };
    match failure {
        Some(failure) => builder.fail(failure),
        None => reader.end(builder),
    }
}

impl Sender {
    /// Sends a request until an answer begins. Repeats it as long as a repetition may succeed. Fails with the last
    /// failure.
    async fn send(&self, exchange: &mut Exchange) -> Result<Response, ProviderError> {
        let mut url = Url::parse(&exchange.wire.url).map_err(|_| {
            let text = "The provider's base URL is not a URL.";
            ProviderError::new(ProviderErrorKind::BadRequest, text)
        })?;
        let client = self.client.get()?;
        let (mut retries, mut redirects) = (0, 0);
        // Refusal of the first form, after which the request was sent in another form.
        let mut first: Option<ProviderError> = None;
        loop {
            let request = client
                .post(url.clone())
                .headers(exchange.wire.headers.clone())
                .header(CONTENT_TYPE, "application/json");
            let progress = Arc::new(Notify::new());
            let request = body::add(request, &exchange.wire.body, &progress);
            // A provider that read the request and then sends no data, or disconnects, may still process and bill it.
            // It cannot recognize a second request as the same, because no API has idempotency keys. So only a request
            // that was not accepted is sent again.
            let (hints, mut failure) = match self.send_with_timeout(&progress, request.send()).await? {
                Ok(response) if response.status().is_success() => {
                    if first.is_some() {
                        exchange.draft.keep_fallbacks(exchange.fallbacks.clone());
                    }
                    return self.stream(response).await;
                }
                Ok(response)
                    if redirects < MOST_REDIRECTS && is_local_redirect(exchange, &url, &response) =>
                {
                    url = location(&response).unwrap_or(url);
                    redirects += 1;
                    continue;
                }
                Ok(response) => {
                    let hints = RetryHints::from_response(
                        response.status().as_u16(),
                        response.headers(),
                        self.clock.now_ms(),
                    );
                    let (failure, response_body) = self.read_error(exchange, response).await;
                    if exchange.apply_fallbacks(hints.status, &failure, &response_body) {
                        tracing::debug!(forms = ?exchange.fallbacks, "a request is sent in another form");
                        first.get_or_insert(failure);
                        continue;
                    }
                    (hints, failure)
                }
                Err(error) if error.is_connect() => {
                    (RetryHints::no_response(), self.connection_error(&url, &error))
                }
                Err(error) => return Err(self.connection_error(&url, &error)),
            };
            // A repeat does not restore an exhausted quota.
            let may = exchange.may_retry && failure.kind != ProviderErrorKind::Quota;
            let most = if may { self.settings.max_retries } else { 0 };
            let Some(wait) = hints.retry_delay(retries, most) else {
                failure.retry_after = failure.retry_after.or(hints.wait);
                // The refusal of the usual form has more detail than that of the other form.
                let first = first.filter(|_| failure.kind == ProviderErrorKind::BadRequest);
                return Err(first.unwrap_or(failure));
            };
            tracing::debug!(status = hints.status, ?wait, retries, "a request is repeated");
            self.clock.sleep(wait).await;
            retries += 1;
        }
    }

    /// Waits for the response to a request. Fails if no part of the request is sent and no response arrives for too
    /// long. `progress` is notified of each part that is sent.
    async fn send_with_timeout<T>(
        &self,
        progress: &Notify,
        send: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        let mut send = std::pin::pin!(send);
        loop {
            let mut overdue = self.idle();
            let part_sent = std::pin::pin!(progress.notified());
            let either = futures::future::select(send.as_mut(), part_sent);
            match self.with_timeout(&mut overdue, either).await? {
                Either::Left((value, _)) => return Ok(value),
                Either::Right(_) => {}
            }
        }
    }

    /// Completes after the maximum time without data.
    fn idle(&self) -> BoxFuture<'static, ()> {
        self.clock.sleep(self.settings.idle_timeout)
    }

    async fn with_timeout<T>(
        &self,
        overdue: &mut BoxFuture<'static, ()>,
        future: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        match futures::future::select(std::pin::pin!(future), overdue).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right(_) => {
                let text = timeout_message(self.settings.idle_timeout);
                Err(ProviderError::new(ProviderErrorKind::Network, text))
            }
        }
    }

    async fn chunk(
        &self,
        response: &mut Response,
        overdue: &mut BoxFuture<'static, ()>,
    ) -> Result<Option<Bytes>, ProviderError> {
        let chunk = self.with_timeout(overdue, response.chunk()).await?;
        chunk.map_err(|error| {
            tracing::debug!(cause = root_cause(&error), "the connection was cut");
            ProviderError::new(ProviderErrorKind::Network, TERMINATED)
        })
    }

    /// Returns the response if it is a stream of events. Otherwise fails; the message contains the beginning of the
    /// body.
    async fn stream(&self, mut response: Response) -> Result<Response, ProviderError> {
        // The client removes the header for an encoding that it decodes.
        if let Some(encoding) = response.headers().get(CONTENT_ENCODING).filter(|value| *value != "identity")
        {
            let encoding = excerpt(&String::from_utf8_lossy(encoding.as_bytes()));
            let text = format!(
                "The provider answered in the encoding {encoding}, which this version does not support."
            );
            return Err(ProviderError::new(ProviderErrorKind::Protocol, text));
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
        Err(ProviderError::new(ProviderErrorKind::Protocol, text))
    }

    /// Returns the failure for an error response, and the body of the response.
    async fn read_error(&self, exchange: &Exchange, mut response: Response) -> (ProviderError, String) {
        let status = response.status();
        if status.is_redirection() {
            // The query is left out, because it may contain a key.
            let address = |to: Url| format!("{}{}", to.origin().ascii_serialization(), to.path());
            let to = location(&response).map_or_else(|| "another address".to_owned(), address);
            let text = format!(
                "{} The provider redirects the request to {to}; redirects are not followed.",
                status.as_u16()
            );
            return (ProviderError::new(ProviderErrorKind::BadRequest, text), String::new());
        }
        let body = self.text(&mut response).await;
        (exchange.api.http_error(status.as_u16(), &body), body)
    }

    /// Returns the beginning of a body, or the part that arrives before an error.
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

    fn connection_error(&self, url: &Url, error: &reqwest::Error) -> ProviderError {
        let through = match self.client.variable_for(url) {
            Some(variable) => format!(" through the proxy of {variable}"),
            None => String::new(),
        };
        let mut text = format!("Connection error{through}: {}", root_cause(error));
        if error.is_connect() && error.is_timeout() {
            let limit = self.settings.connect_timeout.as_secs_f64();
            let note = format!(
                ". No connection was made within {limit} s, the limit of the setting httpConnectTimeoutMs."
            );
            text.push_str(&note);
        }
        ProviderError::new(ProviderErrorKind::Network, text)
    }
}

/// Returns the address to which the response redirects the request.
fn location(response: &Response) -> Option<Url> {
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    response.url().join(to).ok()
}

/// Returns `true` if a long request is sent to a new address on the same host. Keys are not sent to another host. The
/// HTTP client itself follows redirects of short requests.
fn is_local_redirect(exchange: &Exchange, from: &Url, response: &Response) -> bool {
    let is_within = |to: Url| to.origin() == from.origin();
    PRESERVING_STATUSES.contains(&response.status().as_u16())
        && body::is_long(&exchange.wire.body)
        && location(response).is_some_and(is_within)
}

fn timeout_message(limit: Duration) -> String {
    format!(
        "The provider timed out: no data arrived for {} s. The setting httpIdleTimeoutMs sets this limit.",
        limit.as_secs_f64()
    )
}
