//! Login with a device code: the user enters a short code elsewhere, and this program polls until the login is
//! complete.
//!
//! The result is at the top level of `auth.json`, in Opal's format: `github_token` (granted by the user),
//! `copilot_token` (for requests to models), `expires_at` (seconds since the epoch) and `base_url`.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::auth_entry::{DEVICE_LOGIN_PROVIDER, StoredCredential, is_local, is_safe};
use super::auth_file::{AuthError, AuthFile};
use super::http::Client;
use super::key::secret_header;
use crate::config::{Environment, Login};
use crate::runtime::Clock;

/// Number of seconds before the expiry of a token at which it is exchanged for a new one.
const RENEW_BEFORE: i64 = 300;

/// Maximum wait for an answer of the login server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum length of an answer of the login server, in bytes.
const LONGEST_ANSWER: usize = 1 << 20;

/// Number of seconds by which the pause grows when the server requests slower polling.
const INTERVAL_STEP: u64 = 5;

/// Allowed pauses between two polls, in seconds.
const POLL_INTERVALS: std::ops::RangeInclusive<u64> = 1..=300;

/// The permission for which the login asks the user.
const SCOPE: &str = "read:user";

const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The codes of a started login, and the page on which the user enters the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCode {
    /// The code that the user enters.
    pub user_code: String,
    /// Address of the page on which the user enters the code.
    pub verification_uri: String,
    /// The code with which [`DeviceLogin::poll`] identifies the login.
    pub device_code: String,
    /// Pause between two polls in seconds.
    pub interval: u64,
}

/// The reason why a login failed or does not exist. The message shows no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// No login server is configured.
    #[error("no login server is configured: {0} names its domain")]
    NoServer(&'static str),
    /// The login server cannot be reached.
    #[error("the login server at {domain} cannot be reached: {reason}")]
    Unreachable {
        /// Domain of the login server.
        domain: String,
        /// Reason why the login server cannot be reached.
        reason: String,
    },
    /// The login server refuses the request.
    #[error("the login server answered {status}: {reason}")]
    Refused {
        /// HTTP status of the response.
        status: u16,
        /// The reason in its answer.
        reason: String,
    },
    /// The user has not entered the code in time.
    #[error("expired_token: the code has expired; start the login again")]
    Expired,
    /// The user rejected the login.
    #[error("access_denied: the login was refused")]
    Denied,
    /// The answer lacks a member that login servers send.
    #[error("the login server's answer has no {0}")]
    Unreadable(&'static str),
    /// The address in the answer is not safe for tokens.
    #[error("the login server names a model server without https: {0}")]
    Insecure(String),
    /// The token cannot be stored.
    #[error(transparent)]
    File(#[from] AuthError),
    /// There is no directory to store the token in.
    #[error("the login cannot be stored: there is no home directory")]
    NoHome,
    /// No user has logged in.
    #[error("no user is logged in: use the login of this agent, or an API key of another provider")]
    LoggedOut,
}

/// Address and token for requests to models.
pub struct Access {
    pub token: SecretString,
    pub base_url: String,
}

/// The login of one user.
#[derive(Clone)]
pub struct DeviceLogin {
    variables: Login,
    domain: Option<String>,
    client_id: Option<String>,
    file: Option<AuthFile>,
    client: Arc<Client>,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DeviceLogin").field("domain", &self.domain).finish_non_exhaustive()
    }
}

impl DeviceLogin {
    pub fn new(
        variables: Login,
        environment: &dyn Environment,
        file: Option<AuthFile>,
        client: Arc<Client>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let set = |name: &str| {
            environment.get(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
        };
        let (domain, client_id) = (set(variables.domain), set(variables.client));
        Self { variables, domain, client_id, file, client, clock }
    }

    /// Starts a login. Fails if no login server is configured or reached, or if the server refuses.
    pub async fn start(&self) -> Result<DeviceCode, LoginError> {
        let body = self.with_client_id(json!({"scope": SCOPE}));
        let request = self.client()?.post(self.url("", "/login/device/code")?);
        let answer = self.send(with_body(request, &body)).await?;
        let text =
            |name: &'static str| answer[name].as_str().map(str::to_owned).ok_or(LoginError::Unreadable(name));
        Ok(DeviceCode {
            user_code: text("user_code")?,
            verification_uri: text("verification_uri")?,
            device_code: text("device_code")?,
            interval: answer["interval"].as_u64().unwrap_or(INTERVAL_STEP),
        })
    }

    /// Polls every `interval` seconds until the user has entered the code, and stores the result. Fails if the user
    /// rejects the login or takes too long. Dropping the future ends the polling.
    pub async fn poll(&self, device_code: &str, interval: u64) -> Result<(), LoginError> {
        let mut pause = interval.clamp(*POLL_INTERVALS.start(), *POLL_INTERVALS.end());
        let body = self.with_client_id(json!({"device_code": device_code, "grant_type": GRANT_TYPE}));
        let granted = loop {
            let request = self.client()?.post(self.url("", "/login/oauth/access_token")?);
            let answer = self.send(with_body(request, &body)).await?;
            match answer["error"].as_str() {
                None => break answer["access_token"].as_str().map(SecretString::from),
                Some("authorization_pending") => {}
                Some("slow_down") => pause = (pause + INTERVAL_STEP).min(*POLL_INTERVALS.end()),
                Some("expired_token") => return Err(LoginError::Expired),
                Some("access_denied") => return Err(LoginError::Denied),
                Some(_) => return Err(LoginError::Refused { status: 200, reason: reason(&answer) }),
            }
            self.clock.sleep(Duration::from_secs(pause)).await;
        };
        let granted = granted.ok_or(LoginError::Unreadable("access_token"))?;
        self.exchange(&granted).await.map(drop)
    }

    /// Returns the current address and token for requests to models. Exchanges a token that expires soon for a new one.
    /// If the exchange fails, returns the old token while it is still valid.
    pub async fn access(&self) -> Result<Access, LoginError> {
        let stored = self.file.as_ref().ok_or(LoginError::NoHome)?.stored(DEVICE_LOGIN_PROVIDER)?;
        let Some(StoredCredential::Device { token, granted, expires_at, base_url }) = stored else {
            return Err(LoginError::LoggedOut);
        };
        let remaining = expires_at - self.clock.now_ms() / 1000;
        if remaining > RENEW_BEFORE {
            return Ok(Access { token, base_url });
        }
        match self.exchange(&granted).await {
            Err(error) if remaining > 0 => {
                tracing::warn!(%error, "the token of the login was not renewed");
                Ok(Access { token, base_url })
            }
            renewed => renewed,
        }
    }

    /// Obtains a token for requests to models with the token `granted` by the user, and stores both.
    async fn exchange(&self, granted: &SecretString) -> Result<Access, LoginError> {
        let bearer = secret_header(&format!("Bearer {}", granted.expose_secret()));
        let bearer = bearer.ok_or(LoginError::Unreadable("access_token"))?;
        let request = self.client()?.get(self.url("api.", "/copilot_internal/v2/token")?);
        let answer = self.send(request.header(AUTHORIZATION, bearer)).await?;
        let token = answer["token"].as_str().ok_or(LoginError::Unreadable("token"))?;
        let expires_at = answer["expires_at"].as_i64().ok_or(LoginError::Unreadable("expires_at"))?;
        let base_url = answer["endpoints"]["api"].as_str().ok_or(LoginError::Unreadable("endpoints.api"))?;
        if !is_safe(base_url) {
            return Err(LoginError::Insecure(base_url.to_owned()));
        }
        let (token, base_url) = (SecretString::from(token), base_url.to_owned());
        let members = [
            ("github_token", Value::from(granted.expose_secret())),
            ("copilot_token", token.expose_secret().into()),
            ("expires_at", expires_at.into()),
            ("base_url", base_url.as_str().into()),
        ];
        let file = self.file.clone().ok_or(LoginError::NoHome)?;
        let kept = tokio::task::spawn_blocking(move || {
            file.change(|entries| {
                entries.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
            })
        });
        kept.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))?;
        Ok(Access { token, base_url })
    }

    fn client(&self) -> Result<&reqwest::Client, LoginError> {
        self.client.get().map_err(|failure| self.unreachable(failure.text))
    }

    fn unreachable(&self, reason: impl ToString) -> LoginError {
        LoginError::Unreachable {
            domain: self.domain.clone().unwrap_or_default(),
            reason: reason.to_string(),
        }
    }

    /// Returns an address of the login server: the host with the prefix `host`, by `https`. A server on this machine is
    /// reached by `http` and without the prefix.
    fn url(&self, host: &str, path: &str) -> Result<Url, LoginError> {
        let domain = self.domain.as_deref().ok_or(LoginError::NoServer(self.variables.domain))?;
        let local = is_local(domain);
        let address =
            if local { format!("http://{domain}{path}") } else { format!("https://{host}{domain}{path}") };
        Url::parse(&address).map_err(|error| self.unreachable(error))
    }

    fn with_client_id(&self, mut body: Value) -> Value {
        if let Some(id) = &self.client_id {
            body["client_id"] = id.as_str().into();
        }
        body
    }

    /// Reads the body of an answer. Fails if the body is longer than 1 MiB.
    async fn read(&self, mut answer: Response) -> Result<Vec<u8>, LoginError> {
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.unreachable(error.without_url()))? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(self.unreachable("its answer is longer than 1 MiB"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Value, LoginError> {
        let request = request.header(ACCEPT, "application/json").timeout(REQUEST_TIMEOUT);
        // reqwest's own text of an error may show an address, which contains no secret here.
        let answer = request.send().await.map_err(|error| self.unreachable(error.without_url()))?;
        let status = answer.status();
        let body: Value = serde_json::from_slice(&self.read(answer).await?).unwrap_or_default();
        match status {
            StatusCode::OK if body.is_object() => Ok(body),
            StatusCode::OK => Err(LoginError::Unreadable("JSON object")),
            status => Err(LoginError::Refused { status: status.as_u16(), reason: reason(&body) }),
        }
    }
}

fn with_body(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request.header(CONTENT_TYPE, "application/json").body(body.to_string())
}

/// Returns the reason for a failure from a server's answer. The rest of the answer is not shown, because it can contain
/// a token.
fn reason(answer: &Value) -> String {
    let text = ["error_description", "error", "message"].into_iter().find_map(|name| answer[name].as_str());
    agentese::redact(text.unwrap_or("no reason given")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_encrypted_servers_and_to_this_machine() {
        for safe in
            ["https://api.example.test/v1", "http://127.0.0.1:80", "http://localhost:4010", "http://[::1]:9"]
        {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_one in ["http://example.test", "http://127.0.0.1.example.test", "ftp://localhost", "x", ""]
        {
            assert!(!is_safe(unsafe_one), "{unsafe_one}");
        }
    }

    #[test]
    fn fm_f118_an_answer_shows_its_reason_and_nothing_else() {
        let answer = json!({"access_token": "gho_canary", "error": "bad_verification_code"});
        assert_eq!(reason(&answer), "bad_verification_code");
        assert_eq!(reason(&json!({"token": "canary"})), "no reason given");
    }

    #[test]
    fn a_login_is_read_as_a_whole_or_not_at_all() {
        let read = |value: Value| StoredCredential::from_device_login(value.as_object().unwrap());
        assert!(read(json!({"anthropic": {}})).is_none());
        assert!(matches!(read(json!({"copilot_token": "t"})), Some(Err(_))));
        let whole =
            json!({"copilot_token": "t", "github_token": "g", "expires_at": 7, "base_url": "https://h"});
        assert!(matches!(read(whole), Some(Ok(StoredCredential::Device { expires_at: 7, .. }))));
        let open =
            json!({"copilot_token": "t", "github_token": "g", "expires_at": 7, "base_url": "http://h"});
        assert!(matches!(read(open), Some(Err(_))));
    }
}
