//! HTTP server of the page. Tabs connect over a WebSocket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use super::agent_process::SharedHub;
use super::hub::{LineOutcome, ServerRequest};
use super::message_log::Recipients;
use super::tabs::TabQuery;
use super::{assets, session_list};
use agentese_process::http::authentication::{self, Token};
use agentese_process::http::connections::{self, ConnectionGuard};

/// Maximum length of a tab's message in bytes, enough for a prompt with images.
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size in bytes of the messages that one read of the log returns.
const READ_BYTES: usize = 1024 * 1024;
/// Interval of the pings to a tab.
const PING: Duration = Duration::from_secs(20);

/// State that the handler of each request receives.
#[derive(Debug, Clone)]
pub(super) struct AppState {
    pub token: Token,
    pub port: u16,
    pub source: PageSource,
}

/// Content of the page.
#[derive(Debug, Clone)]
pub(super) enum PageSource {
    /// Live agent with its tabs.
    Live(SharedHub),
    /// Content of a recorded session.
    Recorded {
        /// Name of the file.
        name: String,
        text: Bytes,
        /// Dialect to use if the transcript names no dialect.
        dialect: &'static str,
    },
}

/// Answers a request. A request without the token receives no file and no data.
pub(super) async fn handle(state: AppState, request: Request) -> Response<Body> {
    let mut response = answer(&state, request).await;
    let headers = response.headers_mut();
    for (name, value) in assets::headers() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn answer(state: &AppState, request: Request) -> Response<Body> {
    if let Some(reason) = authentication::rejection_reason(request.headers(), state.port, &[]) {
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let (token, rest) = path.split_once('/').unwrap_or((&path, "?"));
    if !state.token.matches(token) {
        let reason = "the address has no valid token; use the address that agentese web printed";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let guard = match connections::admit(&request) {
        Ok(visit) => visit,
        Err(reason) => return (StatusCode::SERVICE_UNAVAILABLE, reason).into_response(),
    };
    if request.method() != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match (rest, &state.source) {
        // Relative addresses in the page require the slash at the end.
        ("?", _) => {
            (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("/{token}/"))]).into_response()
        }
        ("ws", PageSource::Live(shared)) => connect(shared.clone(), guard, request).await,
        ("transcript", PageSource::Recorded { name, text, dialect }) => {
            let about = [("x-file-name", name.as_str()), ("x-dialect", dialect)];
            (about, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text.clone()).into_response()
        }
        (file, _) => assets::file(file).map_or_else(
            || StatusCode::NOT_FOUND.into_response(),
            |(kind, content)| ([(header::CONTENT_TYPE, kind)], content).into_response(),
        ),
    }
}

async fn connect(shared: SharedHub, guard: Arc<ConnectionGuard>, request: Request) -> Response<Body> {
    let tab = tab_query(request.uri().query().unwrap_or_default());
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_MESSAGE_BYTES)
            .max_frame_size(MAX_MESSAGE_BYTES)
            .on_upgrade(move |socket| async move {
                serve_tab(socket, shared, tab).await;
                drop(guard);
            }),
        Err(refused) => refused.into_response(),
    }
}

fn tab_query(query: &str) -> TabQuery {
    let member = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let name = member("tab").filter(|name| name.len() <= 64).unwrap_or_default().to_owned();
    TabQuery {
        name,
        have: member("have").and_then(|count| count.parse().ok()),
        all: member("all") == Some("1"),
    }
}

/// Serves one tab until its connection ends.
async fn serve_tab(mut socket: WebSocket, shared: SharedHub, tab: TabQuery) {
    let mut changes = shared.changes();
    let joined = shared.with(|hub| hub.join(&tab, Instant::now()));
    let (tab_id, mut next) = (joined.tab_id, joined.next);
    let mut alive = tokio::time::interval(PING);
    if socket.send(Message::text(joined.hello.to_string())).await.is_ok() {
        loop {
            if !send_new_messages(&mut socket, &shared, tab_id, &mut next).await {
                break;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { break },
                _ = alive.tick() => if socket.send(Message::Ping(Default::default())).await.is_err() { break },
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => handle_line(&shared, tab_id, &text).await,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                    Some(Ok(_)) => {}
                },
            }
        }
    }
    shared.with(|hub| hub.leave(tab_id));
}

/// Sends new messages to a tab. Returns `false` if the connection has ended, or if messages left the log before
/// the tab read them.
async fn send_new_messages(socket: &mut WebSocket, shared: &SharedHub, tab_id: u32, next: &mut u64) -> bool {
    loop {
        let Some((texts, behind)) = shared.hub().tabs.read(tab_id, *next, READ_BYTES) else {
            let _ = socket.send(Message::text(json!({"agentese": "reload"}).to_string())).await;
            return false;
        };
        *next = behind;
        for text in texts {
            if socket.send(Message::Text(text)).await.is_err() {
                return false;
            }
        }
        if shared.hub().is_read(*next) {
            return true;
        }
    }
}

async fn handle_line(shared: &SharedHub, tab_id: u32, text: &str) {
    match shared.with(|hub| hub.handle_tab_line(tab_id, text)) {
        LineOutcome::Forward(line) => shared.send(line).await,
        LineOutcome::Request(ServerRequest::Restart) => shared.restart(),
        LineOutcome::Request(ServerRequest::Sessions) => {
            let stored = {
                let hub = shared.hub();
                (!hub.agent.is_bridged).then(|| hub.dialect())
            };
            let listed = tokio::task::spawn_blocking(move || stored.map(session_list::sessions))
                .await
                .ok()
                .flatten()
                .unwrap_or_default();
            shared.with(|hub| {
                hub.send_message(Recipients::One(tab_id), json!({"agentese": "sessions", "sessions": listed}))
            });
        }
        LineOutcome::Done => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_query_has_a_name_and_a_position() {
        let tab = |name: &str, have, all| TabQuery { name: name.to_owned(), have, all };
        assert_eq!(tab_query("tab=a1&have=7"), tab("a1", Some(7), false));
        assert_eq!(tab_query(""), TabQuery::default());
        assert_eq!(tab_query("tab=a&have=-1&all=1"), tab("a", None, true));
    }
}
