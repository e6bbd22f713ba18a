//! The page over HTTP, and the tabs over WebSocket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::json;

use super::agent::Shared;
use super::door::{self, Token};
use super::hub::{Heard, Own};
use super::log::To;
use super::{assets, listed};

/// The longest message of a tab, in bytes: a prompt with images.
const LONGEST: usize = 64 * 1024 * 1024;
/// How much is taken from the log at once, in bytes.
const AT_ONCE: usize = 1024 * 1024;
/// How often a tab is asked whether it is still there.
const PING: Duration = Duration::from_secs(20);

/// What every request needs.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub token: Token,
    pub port: u16,
    pub source: Source,
}

/// What the page shows.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// An agent and its tabs.
    Live(Shared),
    /// A recorded session.
    Recorded {
        /// The file's name.
        name: String,
        text: Arc<str>,
        /// The dialect, where the transcript does not name it.
        dialect: &'static str,
    },
}

/// The whole site. Nothing of it is there for who does not have the token.
pub(super) fn router(site: Site) -> Router {
    Router::new().fallback(handle).with_state(site)
}

async fn handle(State(site): State<Site>, request: Request) -> Response<Body> {
    let mut response = answer(&site, request).await;
    let headers = response.headers_mut();
    for (name, value) in assets::headers() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn answer(site: &Site, request: Request) -> Response<Body> {
    if let Some(reason) = door::refuses(request.headers(), site.port) {
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let (token, rest) = path.split_once('/').unwrap_or((&path, "?"));
    if !site.token.is(token) {
        let reason = "the address lacks its token: use the address that agentese web printed";
        return (StatusCode::FORBIDDEN, reason).into_response();
    }
    if request.method() != Method::GET {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match (rest, &site.source) {
        // Relative addresses need the slash at the end.
        ("?", _) => {
            (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, format!("/{token}/"))]).into_response()
        }
        ("ws", Source::Live(shared)) => connect(shared.clone(), request).await,
        ("transcript", Source::Recorded { name, text, dialect }) => {
            let about = [("x-file-name", name.as_str()), ("x-dialect", dialect)];
            (about, text.to_string()).into_response()
        }
        (file, _) => assets::file(file).map_or_else(
            || StatusCode::NOT_FOUND.into_response(),
            |(kind, content)| ([(header::CONTENT_TYPE, kind)], content).into_response(),
        ),
    }
}

async fn connect(shared: Shared, request: Request) -> Response<Body> {
    let (name, have) = asked(request.uri().query().unwrap_or_default());
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(LONGEST)
            .max_frame_size(LONGEST)
            .on_upgrade(move |socket| talk(socket, shared, name, have)),
        Err(refused) => refused.into_response(),
    }
}

/// What a tab says about itself: `tab` is its name, `have` the number of messages that it has got.
fn asked(query: &str) -> (String, Option<u64>) {
    let member = |name: &str| {
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let name = member("tab").filter(|name| name.len() <= 64).unwrap_or_default();
    (name.to_owned(), member("have").and_then(|count| count.parse().ok()))
}

/// One tab, from its connection to the end of that.
async fn talk(mut socket: WebSocket, shared: Shared, name: String, have: Option<u64>) {
    let mut changes = shared.changes();
    let joined = shared.with(|hub| hub.join(&name, have, Instant::now()));
    let (seat, mut next) = (joined.seat, joined.next);
    let mut alive = tokio::time::interval(PING);
    if socket.send(Message::text(joined.hello.to_string())).await.is_ok() {
        loop {
            if !send_news(&mut socket, &shared, seat, &mut next).await {
                break;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { break },
                _ = alive.tick() => if socket.send(Message::Ping(Default::default())).await.is_err() { break },
                message = socket.recv() => match message {
                    Some(Ok(Message::Text(text))) => heard(&shared, seat, &text).await,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                    Some(Ok(_)) => {}
                },
            }
        }
    }
    shared.with(|hub| hub.leave(seat));
}

/// Sends what is new. False where the connection is over, or the tab was too slow for what is kept.
async fn send_news(socket: &mut WebSocket, shared: &Shared, seat: u32, next: &mut u64) -> bool {
    loop {
        let Some((texts, behind)) = shared.hub().read(seat, *next, AT_ONCE) else {
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

async fn heard(shared: &Shared, seat: u32, text: &str) {
    match shared.with(|hub| hub.heard(seat, text)) {
        Heard::Line(line) => shared.send(line).await,
        Heard::Own(Own::Restart) => shared.restart(),
        Heard::Own(Own::Sessions) => {
            let listed = tokio::task::spawn_blocking(listed::sessions).await.unwrap_or_default();
            shared.with(|hub| hub.say(To::One(seat), json!({"agentese": "sessions", "sessions": listed})));
        }
        Heard::Nothing => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_says_who_it_is_and_what_it_has() {
        assert_eq!(asked("tab=a1&have=7"), ("a1".to_owned(), Some(7)));
        assert_eq!(asked(""), (String::new(), None));
        assert_eq!(asked("tab=a&have=-1"), ("a".to_owned(), None));
    }
}
