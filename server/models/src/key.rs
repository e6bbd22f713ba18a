//! Keys, which are never shown.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::{Failure, FailureKind};

/// What a provider is asked with. It cannot be printed, and is wiped from memory when it goes.
#[derive(Debug, Clone)]
pub struct Key {
    secret: SecretString,
    /// Whether it is a token of a login rather than a key.
    bearer: bool,
}

/// Tokens of Anthropic's logins begin like this, wherever they are configured.
const LOGIN_TOKEN: &str = "sk-ant-oat";

impl Key {
    pub fn new(secret: SecretString) -> Self {
        let bearer = secret.expose_secret().starts_with(LOGIN_TOKEN);
        Self { secret, bearer }
    }

    pub fn bearer(secret: SecretString) -> Self {
        Self { secret, bearer: true }
    }

    pub fn is_bearer(&self) -> bool {
        self.bearer
    }

    /// The key as the value of a header, after a prefix.
    pub fn header(&self, prefix: &str) -> Result<HeaderValue, Failure> {
        secret_header(&format!("{prefix}{}", self.secret.expose_secret())).ok_or_else(|| {
            Failure::new(FailureKind::Auth, "The API key has characters that no header can carry.")
        })
    }

    pub fn secret(&self) -> &SecretString {
        &self.secret
    }
}

/// A header's value that is not shown; none where no header can carry it.
pub fn secret_header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Secrets that a text must not show.
#[derive(Debug, Default)]
pub struct Secrets(Vec<SecretString>);

/// What stands in place of one.
const REDACTED: &str = "[redacted]";

/// A shorter one would take ordinary words out of texts.
const SHORTEST_SECRET: usize = 8;

impl Secrets {
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.0.push(secret.into());
        }
    }

    /// The text without them, and without what looks like a key anyway.
    pub fn hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            text = text.replace(secret.expose_secret(), REDACTED);
        }
        agentese::redact(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f118_a_key_shows_nowhere() {
        let key = Key::new("canary-4711-secret".into());
        let mut secrets = Secrets::default();
        secrets.add(key.secret().expose_secret());
        let header = key.header("Bearer ").unwrap();
        for shown in [
            format!("{key:?} {key:#?} {secrets:?} {header:?}"),
            secrets.hidden("401 the key canary-4711-secret is wrong"),
            Key::new("canary-4711\n".into()).header("").unwrap_err().text,
        ] {
            assert!(!shown.contains("4711"), "{shown}");
        }
        assert_eq!(secrets.hidden("401 no"), "401 no");
    }
}
