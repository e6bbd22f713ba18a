//! Keys, which are never shown.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::{ProviderError, ProviderErrorKind};

/// The key of a provider. Its value cannot be printed and is wiped from memory on drop.
#[derive(Debug, Clone)]
pub struct Key {
    secret: SecretString,
    /// `true` for the token of a login, `false` for an API key.
    bearer: bool,
}

/// Prefix of the tokens of Anthropic's logins, in any configuration.
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

    /// Returns the key as the value of a header, after a prefix.
    pub fn header(&self, prefix: &str) -> Result<HeaderValue, ProviderError> {
        secret_header(&format!("{prefix}{}", self.secret.expose_secret())).ok_or_else(|| {
            ProviderError::new(
                ProviderErrorKind::Auth,
                "The API key has characters that are not allowed in a header.",
            )
        })
    }

    pub fn secret(&self) -> &SecretString {
        &self.secret
    }
}

/// Returns the value of a header, marked as sensitive; `None` if a header cannot contain it.
pub fn secret_header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Secrets that a text must not show.
#[derive(Debug, Default)]
pub struct Secrets(Vec<SecretString>);

/// The replacement for a secret.
const REDACTED: &str = "[redacted]";

/// The least length of a secret; a shorter one would match ordinary words in texts.
const SHORTEST_SECRET: usize = 8;

impl Secrets {
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.0.push(secret.into());
        }
    }

    /// Returns the text without these secrets, and without anything else that looks like a key.
    pub fn redact(&self, text: &str) -> String {
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
            secrets.redact("401 the key canary-4711-secret is wrong"),
            Key::new("canary-4711\n".into()).header("").unwrap_err().text,
        ] {
            assert!(!shown.contains("4711"), "{shown}");
        }
        assert_eq!(secrets.redact("401 no"), "401 no");
    }
}
