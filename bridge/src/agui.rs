//! `agentese bridge --to ag-ui`: agents behind AG-UI components, over HTTP and only on this machine.
//!
//! | file | concept |
//! |---|---|
//! | `threads` | one process of the agent for each thread |
//! | `run`, `work` | one run, from its request to its last event |
//! | `questions` | the agent's questions, which interrupt a run |
//! | `teller` | conversion of neutral events to AG-UI events, without I/O |
//! | `messages` | the conversation as AG-UI messages, without I/O |
//! | `asked` | the request of a client, without I/O |

mod asked;
mod messages;
mod questions;
mod run;
mod teller;
mod threads;
mod work;

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use agentese::agui::{Event as Told, SPEC};
use agentese::spec::Spec;
use agentese::types::AguiRunInput;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use serde_json::json;
use tokio::sync::mpsc::{self, Receiver};

use super::launch::dialect;
use super::losses::{Heard, Losses};
use crate::error::BridgeError;
use crate::options::BridgeOptions;
use agentese_process::http;
use agentese_process::http::door::{self, Token};
use agentese_process::http::listen::{self, BodyError};
use agentese_process::output;
use agentese_process::stderr::Stderr;
use threads::{Threads, Unavailable};

/// The maximum size of a request in bytes, for a conversation with images.
const LONGEST: usize = 64 * 1024 * 1024;
/// The maximum number of events that wait for a slow client; further events of the agent wait behind them.
const WAITING: usize = 64;

/// The tables of AG-UI.
pub(super) fn spec() -> &'static Spec {
    &SPEC
}

/// Returns `true` if the name means AG-UI, which is not a dialect.
pub(super) fn is_agui(name: &str) -> bool {
    name == "ag-ui" || name == SPEC.name || name == SPEC.id()
}

/// The data for every request.
#[derive(Clone)]
struct Site {
    token: Token,
    port: u16,
    threads: Arc<Threads>,
}

/// Serves until the process is stopped. Fails if the agent's dialect is not detected or the port is in use.
pub(super) async fn serve(options: BridgeOptions, stderr: &Stderr) -> Result<ExitCode, BridgeError> {
    let spec = dialect(&options, stderr).await?;
    let heard = Arc::<Heard>::default();
    let losses = Losses::new(&SPEC, spec, heard.clone());
    let losses = Arc::new(losses.map_err(|error| BridgeError::Usage(format!("the agent: {error}")))?);
    let opened = http::Opened::at(options.port).await?;
    let report = options.report.clone();
    let threads = Arc::new(Threads::new(options, stderr, spec, losses.clone(), heard));
    let site = Site { token: opened.token.clone(), port: opened.port, threads: threads.clone() };
    output::print(&format!("{}\n", opened.address()))?;
    let code = opened.serve(move |request| handle(site.clone(), request)).await;
    threads.end().await;
    report.map_or(Ok(()), |path| losses.report(&path))?;
    Ok(code)
}

async fn handle(site: Site, request: Request) -> Response<Body> {
    let origin = allowed(&site, request.headers());
    let mut response = answer(&site, request).await;
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
fn allowed(site: &Site, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let is_named = site.threads.options.allow_origin.iter().any(|name| origin == name.as_str());
    is_named.then(|| origin.clone())
}

fn refused(status: StatusCode, reason: impl std::fmt::Display) -> Response<Body> {
    let body = json!({"error": reason.to_string()}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn answer(site: &Site, request: Request) -> Response<Body> {
    if let Some(reason) = door::refuses(request.headers(), site.port, &site.threads.options.allow_origin) {
        return refused(StatusCode::FORBIDDEN, reason);
    }
    if !site.token.is(request.uri().path().trim_matches('/')) {
        let reason = "the address lacks its token: use the address that agentese bridge printed";
        return refused(StatusCode::FORBIDDEN, reason);
    }
    if let Err(reason) = listen::admit(&request) {
        return refused(StatusCode::SERVICE_UNAVAILABLE, reason);
    }
    match *request.method() {
        Method::POST => {}
        // The preflight request of a browser for a page of another origin.
        Method::OPTIONS => return StatusCode::NO_CONTENT.into_response(),
        _ => return refused(StatusCode::METHOD_NOT_ALLOWED, "a run is asked for with POST"),
    }
    let body = match listen::body(request, LONGEST).await {
        Ok(body) => body,
        Err(error @ BodyError::TooLong(_)) => return refused(StatusCode::PAYLOAD_TOO_LARGE, error),
        Err(error @ BodyError::TimedOut) => return refused(StatusCode::REQUEST_TIMEOUT, error),
    };
    let read = std::str::from_utf8(&body).map_err(|error| error.to_string());
    let read = read.and_then(|text| {
        agentese::strict::unique_members(text).map_err(|error| error.to_string())?;
        serde_json::from_str(text).map_err(|error| error.to_string())
    });
    let input: AguiRunInput = match read {
        Ok(input) => input,
        Err(error) => return refused(StatusCode::BAD_REQUEST, format!("not a request of AG-UI: {error}")),
    };
    let wanted = match asked::wanted(&input) {
        Ok(wanted) => wanted,
        Err(reason) => return refused(StatusCode::BAD_REQUEST, reason),
    };
    let held = match site.threads.hold(&input.thread_id).await {
        Ok(held) => held,
        Err(reason @ Unavailable::Busy) => return refused(StatusCode::CONFLICT, reason),
        Err(reason @ Unavailable::Full) => return refused(StatusCode::SERVICE_UNAVAILABLE, reason),
    };
    if let Some(command) = SPEC.commands.first() {
        site.threads.losses.count(command.wire);
    }
    let (to, events) = mpsc::channel(WAITING);
    tokio::spawn(run::serve(site.threads.clone(), held, input, wanted, to));
    stream(events)
}

/// Streams events. After a disconnect the receiver is dropped, which stops the run.
fn stream(events: Receiver<Told>) -> Response<Body> {
    let events = futures::stream::unfold(events, |mut events| async move {
        let told = events.recv().await?;
        let text = serde_json::to_string(&told).unwrap_or_default();
        Some((Ok::<_, Infallible>(Sent::default().data(text)), events))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
