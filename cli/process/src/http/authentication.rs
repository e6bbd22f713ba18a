//! Authentication of requests. Each needs the token, and requests of pages from other origins are rejected.

use axum::http::{HeaderMap, header};
use base64::Engine;
use subtle::ConstantTimeEq;

/// Length of a token in bytes, before the text encoding.
const TOKEN_BYTES: usize = 24;

/// Host names and addresses of this machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Secret part of the address. The `Debug` output of a token does not contain the secret.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Creates a random token. Fails if the system provides no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns `true` if `text` is the token. For texts of the token's length, the comparison takes constant
    /// time.
    pub fn matches(&self, text: &str) -> bool {
        self.0.as_bytes().ct_eq(text.as_bytes()).into()
    }

    /// Returns the token as text, for the address.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Token(…)")
    }
}

/// Returns the reason to reject a request, or `None` if the request is permitted.
///
/// The header `Host` must be a name of this machine with this port, because other host names can resolve to
/// this machine too. If a page sends the request, its origin must be that of this server or one of `others`.
pub fn rejection_reason(headers: &HeaderMap, port: u16, others: &[String]) -> Option<&'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let own = |host: &str| LOOPBACK.iter().any(|name| host == format!("{name}:{port}"));
    if !text(header::HOST).is_some_and(own) {
        return Some("this address serves its own machine only");
    }
    if text(header::ORIGIN).is_some_and(|origin| others.iter().any(|other| other == origin)) {
        return None;
    }
    let foreign = |origin: &str| !origin.strip_prefix("http://").is_some_and(own);
    if text(header::ORIGIN).is_some_and(foreign) {
        return Some("a page from another origin may not talk to the agent");
    }
    // A link on another page is harmless, because it lacks the token. Frames and loads from such a page are
    // rejected.
    if text(header::HeaderName::from_static("sec-fetch-site")) == Some("cross-site") {
        return Some("a page from another origin may not load this one");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn a_token_matches_only_itself_and_is_not_printed() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert!(token.matches(token.reveal()));
        assert!(!token.matches(other.reveal()) && !token.matches("") && !token.matches(&token.reveal()[1..]));
        assert_eq!(token.reveal().len(), 32);
        assert!(!format!("{token:?}").contains(token.reveal()));
    }

    #[test]
    fn other_hosts_and_origins_are_rejected() {
        let refused = |pairs: &[(&'static str, &'static str)]| {
            rejection_reason(&headers(pairs), 4711, &["http://localhost:3000".to_owned()]).is_some()
        };
        for host in ["127.0.0.1:4711", "localhost:4711", "[::1]:4711"] {
            assert!(!refused(&[("host", host)]), "{host}");
        }
        assert!(!refused(&[("host", "127.0.0.1:4711"), ("origin", "http://127.0.0.1:4711")]));
        let other = [("origin", "http://localhost:3000"), ("sec-fetch-site", "cross-site")];
        assert!(!refused(&[("host", "127.0.0.1:4711"), other[0], other[1]]));
        for pairs in [
            &[][..],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:80")],
            &[("host", "evil.example:4711")],
            &[("host", "127.0.0.1.evil.example:4711")],
            &[("host", "127.0.0.1:4711"), ("origin", "http://evil.example")],
            &[("host", "127.0.0.1:4711"), ("origin", "http://127.0.0.1:4712")],
            &[("host", "127.0.0.1:4711"), ("origin", "https://127.0.0.1:4711")],
            &[("host", "127.0.0.1:4711"), ("origin", "http://localhost:3001")],
            &[("host", "evil.example:4711"), ("origin", "http://localhost:3000")],
            &[("host", "127.0.0.1:4711"), ("origin", "null")],
            &[("host", "127.0.0.1:4711"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(refused(pairs), "{pairs:?}");
        }
    }
}
