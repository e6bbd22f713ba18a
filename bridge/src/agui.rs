//! `agentese bridge --to ag-ui`: agents behind AG-UI components, over HTTP and only on this machine.
//!
//! | file | concept |
//! |---|---|
//! | `threads` | one process of the agent for each thread |
//! | `run`, `active_run` | one run, from its request to its last event |
//! | `questions` | the agent's questions, which interrupt a run |
//! | `translator` | conversion of neutral events to AG-UI events, without I/O |
//! | `messages` | the conversation as AG-UI messages, without I/O |
//! | `request` | the request of a client, without I/O |

mod active_run;
mod messages;
mod questions;
mod request;
mod run;
mod threads;
mod translator;

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use agentese::agui::{Event as AguiEvent, SPEC};
use agentese::spec::Spec;
use agentese::types::AguiRunInput;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver};

use super::fidelity_report::{FidelityReport, FrameCounts};
use super::launch::agent_dialect;
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::http;
use agentese_process::http::authentication::{self, Token};
use agentese_process::http::connections::{self, BodyError};
use agentese_process::output;
use agentese_process::stderr::Stderr;
use threads::{ThreadError, Threads};

/// The maximum size of a request in bytes. A request may contain a conversation with images.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of queued events for a slow client. When the queue is full, the agent's further events wait.
const EVENT_BUFFER: usize = 64;

/// Returns the declaration of AG-UI.
pub(super) fn spec() -> &'static Spec {
    &SPEC
}

/// Returns `true` if the name is a name of AG-UI, which is a protocol but not a dialect.
pub(super) fn is_agui(name: &str) -> bool {
    name == "ag-ui" || name == SPEC.name || name == SPEC.id()
}

/// The data that all requests share.
#[derive(Clone)]
struct AppState {
    token: Token,
    port: u16,
    threads: Arc<Threads>,
}

/// Serves until the process is stopped. Fails if the agent's dialect is not detected or the port is in use.
pub(super) async fn serve(options: BridgeOptions, stderr: &Stderr) -> Result<ExitCode, BridgeError> {
    let spec = agent_dialect(&options, stderr).await?;
    let counts = Arc::<FrameCounts>::default();
    let fidelity = FidelityReport::new(&SPEC, spec, counts.clone());
    let fidelity =
        Arc::new(fidelity.map_err(|error| BridgeError::Usage(format!("cannot use the agent: {error}")))?);
    let server = http::LocalServer::bind(options.port).await?;
    let report = options.report.clone();
    let threads = Arc::new(Threads::new(options, stderr, spec, fidelity.clone(), counts));
    let state = AppState { token: server.token.clone(), port: server.port, threads: threads.clone() };
    output::print(&format!("{}\n", server.address()))?;
    let code = server.serve(move |request| handle(state.clone(), request)).await;
    threads.end().await;
    report.map_or(Ok(()), |path| fidelity.write_report(&path))?;
    Ok(code)
}

async fn handle(state: AppState, request: Request) -> Response<Body> {
    let origin = allowed_origin(&state, request.headers());
    let mut response = respond(&state, request).await;
    let headers = response.headers_mut();
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    }
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns the origin of the page that sends the request, if the origin is allowed.
fn allowed_origin(state: &AppState, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let is_named = state.threads.options.allow_origin.iter().any(|name| origin == name.as_str());
    is_named.then(|| origin.clone())
}

fn rejection(status: StatusCode, reason: impl std::fmt::Display) -> Response<Body> {
    let body = json!({"error": reason.to_string()}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn respond(state: &AppState, request: Request) -> Response<Body> {
    if let Some(reason) =
        authentication::rejection_reason(request.headers(), state.port, &state.threads.options.allow_origin)
    {
        return rejection(StatusCode::FORBIDDEN, reason);
    }
    if !state.token.matches(request.uri().path().trim_matches('/')) {
        let reason = "the address has no valid token; use the address that agentese bridge printed";
        return rejection(StatusCode::FORBIDDEN, reason);
    }
    if let Err(reason) = connections::admit(&request) {
        return rejection(StatusCode::SERVICE_UNAVAILABLE, reason);
    }
    match *request.method() {
        Method::POST => {}
        // The preflight request of a browser for a page of another origin.
        Method::OPTIONS => return StatusCode::NO_CONTENT.into_response(),
        _ => return rejection(StatusCode::METHOD_NOT_ALLOWED, "method not allowed; use POST"),
    }
    let body = match connections::read_body(request, MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(error @ BodyError::TooLong(_)) => return rejection(StatusCode::PAYLOAD_TOO_LARGE, error),
        Err(error @ BodyError::TimedOut) => return rejection(StatusCode::REQUEST_TIMEOUT, error),
    };
    let read = std::str::from_utf8(&body).map_err(|error| error.to_string());
    let read = read.and_then(|text| {
        agentese::strict::unique_members(text).map_err(|error| error.to_string())?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    });
    let input: AguiRunInput = match read {
        Ok(input) => input,
        Err(error) => return rejection(StatusCode::BAD_REQUEST, format!("invalid AG-UI request: {error}")),
    };
    let run_request = match request::parse(&input) {
        Ok(wanted) => wanted,
        Err(reason) => return rejection(StatusCode::BAD_REQUEST, reason),
    };
    let reserved = match state.threads.reserve(&input.thread_id).await {
        Ok(held) => held,
        Err(reason @ ThreadError::Busy) => return rejection(StatusCode::CONFLICT, reason),
        Err(reason @ ThreadError::Full) => return rejection(StatusCode::SERVICE_UNAVAILABLE, reason),
    };
    if let Some(command) = SPEC.commands.first() {
        state.threads.fidelity.count(command.wire);
    }
    let (to, events) = mpsc::channel(EVENT_BUFFER);
    tokio::spawn(run::serve(state.threads.clone(), reserved, input, run_request, to));
    stream(events)
}

/// Streams events. After a disconnect the receiver is dropped, which stops the run.
fn stream(events: Receiver<AguiEvent>) -> Response<Body> {
    let events = futures::stream::unfold(events, |mut events| async move {
        let event = events.recv().await?;
        let text = serde_json::to_string(&event).unwrap_or_default();
        Some((Ok::<_, Infallible>(SseEvent::default().data(text)), events))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
