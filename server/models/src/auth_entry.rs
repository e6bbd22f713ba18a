//! Entries of `auth.json`.

use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Map, Value};

/// Name of the provider that requires the device-code login.
pub const DEVICE_LOGIN_PROVIDER: &str = "copilot";

/// The stored credentials of a provider.
#[derive(Debug, Clone)]
pub enum StoredCredential {
    Key(SecretString),
    /// The token of a login, and its expiry in milliseconds since the epoch.
    Login {
        token: SecretString,
        expires: i64,
    },
    /// The result of a login with a device code.
    Device {
        /// The token for requests to models.
        token: SecretString,
        /// The token that the user granted. It is exchanged for each new `token`.
        granted: SecretString,
        /// Expiry of the token in seconds since the epoch.
        expires_at: i64,
        /// The address for requests to models.
        base_url: String,
    },
}

impl StoredCredential {
    /// Parses the entry of a provider. Fails with a description of the fault if the entry is not valid.
    pub fn from_entry(provider: &str, entry: &Value) -> Result<Self, String> {
        let member = |name: &str| {
            let found = entry[name].as_str().filter(|text| !text.trim().is_empty()).map(SecretString::from);
            found.ok_or_else(|| format!("the entry of {provider} has no {name}"))
        };
        match entry["type"].as_str() {
            Some("api_key") => member("key").map(Self::Key),
            Some("oauth") => {
                let expires = entry["expires"].as_i64().unwrap_or_default();
                Ok(Self::Login { token: member("access")?, expires })
            }
            _ => Err(format!("the entry of {provider} has an unknown type")),
        }
    }
}

impl StoredCredential {
    /// Parses the result of a device-code login, which is stored at the top level of the file. Returns `None`
    /// if the user has not logged in.
    pub fn from_device_login(members: &Map<String, Value>) -> Option<Result<Self, String>> {
        let text = |name: &str| members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (token, granted) = (text("copilot_token"), text("github_token"));
        if token.is_none() && granted.is_none() {
            return None;
        }
        let missing = |name: &str| format!("the login has no {name}");
        let read = || {
            let base_url = text("base_url").ok_or_else(|| missing("base_url"))?;
            if !is_safe(base_url) {
                return Err("the login names a server without https".to_owned());
            }
            Ok(Self::Device {
                token: token.ok_or_else(|| missing("copilot_token"))?.into(),
                granted: granted.ok_or_else(|| missing("github_token"))?.into(),
                expires_at: members.get("expires_at").and_then(Value::as_i64).unwrap_or_default(),
                base_url: base_url.to_owned(),
            })
        };
        Some(read())
    }
}

/// Returns true if tokens may be sent to an address: with `https`, or to this machine.
pub fn is_safe(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| {
        url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_local))
    })
}

/// Returns true if a host, with or without a port, is this machine.
pub fn is_local(domain: &str) -> bool {
    let host = match domain.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => domain,
    };
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}
