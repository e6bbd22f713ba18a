//! Keys, which neither logs nor messages show.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

use super::{ProviderError, ProviderErrorKind};

/// The key of a provider. Debug output does not show the key, and dropping it wipes it from memory.
#[derive(Debug, Clone)]
pub struct Key {
    secret: SecretString,
    /// `true` for the token of a login, `false` for an API key.
    bearer: bool,
}

/// Prefix of the login tokens of Anthropic. A key with this prefix is always treated as a login token.
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

    /// Returns the key as the value of an HTTP header, after `prefix`. Fails if the key has characters that a
    /// header cannot contain.
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

/// Returns a header value that is marked as sensitive. Returns `None` if a header cannot contain the text.
pub fn secret_header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Secrets that are removed from texts.
#[derive(Debug, Default)]
pub struct Secrets(Vec<SecretString>);

/// The text in place of a secret.
const REDACTED: &str = "[redacted]";

/// Minimum length of a secret in bytes. A shorter secret would match ordinary words.
const SHORTEST_SECRET: usize = 8;

impl Secrets {
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.0.push(secret.into());
        }
    }

    /// Returns a text in which these secrets, and all texts in the form of known keys, are replaced.
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
