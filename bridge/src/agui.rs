//! `agentese bridge --to ag-ui`: agents behind AG-UI components, over HTTP and only on this machine.
//!
//! | file | concept |
//! |---|---|
//! | `threads`, `thread_agent` | one process of the agent for each thread |
//! | `run`, `active_run` | one run, from its request to its last event |
//! | `run_log` | the events of a run, for a client that reconnects |
//! | `questions` | the agent's questions, which interrupt a run |
//! | `translator` | conversion of neutral events to AG-UI events, without I/O |
//! | `sequential_parts` | texts, thoughts and tool calls one after the other, without I/O |
//! | `messages` | the conversation as AG-UI messages, without I/O |
//! | `request` | the request of a client, without I/O |

mod active_run;
mod messages;
mod questions;
mod request;
mod run;
mod run_log;
mod sequential_parts;
mod thread_agent;
mod threads;
mod translator;

use std::convert::Infallible;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::process::ExitCode;
use std::sync::Arc;

use agentese::agui::SPEC;
use agentese::spec::Spec;
use agentese::types::AguiRunInput;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use serde_json::json;

use super::fidelity_report::{FidelityReport, FrameCounts};
use super::launch::agent_dialect;
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::http;
use agentese_process::http::authentication::{self, Token};
use agentese_process::http::connections::{self, BodyError};
use agentese_process::output;
use agentese_process::stderr::Stderr;
use run_log::{EventsGone, RequestKey, RunReader};
use threads::{ReservedRun, ThreadError, Threads};

/// The maximum size of a request in bytes. A request may contain a conversation with images.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// The header with the id of the last event that a client has received, as browsers send it.
const LAST_EVENT_ID: &str = "last-event-id";

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
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
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
        Method::POST => start(state, request).await,
        Method::GET => match last_event_id(request.headers()) {
            Some(last) => stream(state.threads.resume(&last, None)),
            None => {
                let reason = "GET continues reading a run and requires the header Last-Event-ID; use POST to start a run";
                rejection(StatusCode::BAD_REQUEST, reason)
            }
        },
        // The preflight request of a browser for a page of another origin.
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => rejection(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed; use POST, or GET to continue a run",
        ),
    }
}

/// Returns the id of the last event that the client has received. Returns `None` if the request contains no id.
fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(LAST_EVENT_ID)?;
    Some(String::from_utf8_lossy(id.as_bytes()).into_owned()).filter(|id| !id.is_empty())
}

/// Starts a run, or continues the run that the same request has started before.
async fn start(state: &AppState, request: Request) -> Response<Body> {
    let last = last_event_id(request.headers());
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
    if let Some(last) = last {
        return stream(state.threads.resume(&last, Some((&input.thread_id, &input.run_id))));
    }
    let run_request = match request::parse(&input) {
        Ok(wanted) => wanted,
        Err(reason) => return rejection(StatusCode::BAD_REQUEST, reason),
    };
    let key = RequestKey {
        thread: input.thread_id.clone(),
        run: input.run_id.clone(),
        digest: BuildHasherDefault::<DefaultHasher>::default().hash_one(&body),
    };
    if let Some(log) = state.threads.current_run(&key) {
        return stream(log.read_from_start());
    }
    let ReservedRun { thread, log, writer } = match state.threads.reserve(key).await {
        Ok(reserved) => reserved,
        Err(reason @ ThreadError::Busy) => return rejection(StatusCode::CONFLICT, reason),
        Err(reason) => return rejection(StatusCode::SERVICE_UNAVAILABLE, reason),
    };
    if let Some(command) = SPEC.commands.first() {
        state.threads.fidelity.count(command.wire);
    }
    let events = log.read_from_start();
    tokio::spawn(run::serve(state.threads.clone(), thread, input, run_request, writer));
    stream(events)
}

/// Streams events with their ids. After a disconnect the reader is dropped, which begins the time limit for the client
/// to reconnect.
fn stream(events: Result<RunReader, EventsGone>) -> Response<Body> {
    let events = match events {
        Ok(events) => events,
        Err(gone) => return rejection(StatusCode::GONE, gone),
    };
    let events = futures::stream::unfold(events, |mut events| async move {
        let (id, text) = events.next().await?;
        Some((Ok::<_, Infallible>(SseEvent::default().id(id).data(text)), events))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
