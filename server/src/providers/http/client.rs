//! The HTTP client: whom it trusts, what it goes through, where it does not follow.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, NoProxy, Proxy, Url};

use crate::config::Environment;
use crate::providers::{Failure, FailureKind, Settings};

/// How often a provider may send a request on to another path.
const MOST_REDIRECTS: usize = 5;

const USER_AGENT: &str = concat!("agentese/", env!("CARGO_PKG_VERSION"));

/// Variables that name a proxy, by what goes through it. The first one that is set counts, lower case
/// first, as in curl.
const PROXIES: [(Scheme, &[&str]); 3] = [
    (Scheme::Https, &["https_proxy", "HTTPS_PROXY"]),
    (Scheme::Http, &["http_proxy", "HTTP_PROXY"]),
    (Scheme::All, &["all_proxy", "ALL_PROXY"]),
];
const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];
/// What is on this machine is never reached through a proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// Variables that name a file of certificates which are trusted besides the system's.
const CERTIFICATES: &[&str] = &["NODE_EXTRA_CA_CERTS"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    All,
}

/// What a client is made of. It is made when the first request needs it: reading the system's
/// certificates takes longer than anything else at start.
#[derive(Debug)]
pub struct Client {
    connect_timeout: std::time::Duration,
    proxies: Vec<Through>,
    no_proxy: Option<String>,
    certificates: Option<(String, PathBuf)>,
    made: OnceLock<Result<reqwest::Client, String>>,
}

struct Through {
    scheme: Scheme,
    variable: &'static str,
    /// May hold a password.
    address: String,
}

impl std::fmt::Debug for Through {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Through").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl Client {
    /// A client that trusts and goes through what the settings and the environment say.
    pub fn new(settings: &Settings, environment: &dyn Environment) -> Self {
        let set = |names: &[&'static str]| {
            names.iter().find_map(|name| {
                let value = environment.get(name)?.into_string().ok()?;
                (!value.is_empty()).then_some((*name, value))
            })
        };
        let proxies = PROXIES.iter().filter_map(|(scheme, names)| {
            set(names).map(|(variable, address)| Through { scheme: *scheme, variable, address })
        });
        let configured = settings.ca_file.clone().map(|path| ("the settings".to_owned(), path));
        let certificates =
            configured.or_else(|| set(CERTIFICATES).map(|(name, path)| (name.to_owned(), path.into())));
        Self {
            connect_timeout: settings.connect_timeout,
            proxies: proxies.collect(),
            no_proxy: set(NO_PROXY).map(|(_, hosts)| hosts),
            certificates,
            made: OnceLock::new(),
        }
    }

    /// The client; fails for a proxy or certificates that cannot be used, naming where they are set.
    pub fn get(&self) -> Result<&reqwest::Client, Failure> {
        let made = self.made.get_or_init(|| self.make());
        made.as_ref().map_err(|text| Failure::new(FailureKind::Network, text.clone()))
    }

    /// The variable that names the proxy through which an address is reached, for errors.
    pub(in crate::providers) fn variable_for(&self, address: &Url) -> Option<&'static str> {
        let through = self.proxies.iter().find(|through| match through.scheme {
            Scheme::Http => address.scheme() == "http",
            Scheme::Https => address.scheme() == "https",
            Scheme::All => true,
        })?;
        (!self.goes_past(address.host_str()?)).then_some(through.variable)
    }

    fn goes_past(&self, host: &str) -> bool {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
            return true;
        }
        let hosts = self.no_proxy.iter().flat_map(|hosts| hosts.split(','));
        let hosts = hosts.map(|known| known.trim().trim_start_matches('.')).filter(|known| !known.is_empty());
        hosts.into_iter().any(|known| known == "*" || host == known || host.ends_with(&format!(".{known}")))
    }

    fn make(&self) -> Result<reqwest::Client, String> {
        // Whoever uses this library may have chosen another one before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Only what was given at the start counts, not what the process has now.
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .user_agent(USER_AGENT)
            // Not asked for, as hosts that compress hold words back; a gateway may do it all the same, and
            // what it sends is decoded.
            .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
            .connect_timeout(self.connect_timeout)
            .redirect(Policy::custom(|attempt| {
                let from = attempt.previous().last().cloned();
                let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
                // Keys are in headers that the client does not know to be secret.
                if same && attempt.previous().len() <= MOST_REDIRECTS {
                    attempt.follow()
                } else {
                    attempt.stop()
                }
            }));
        for through in &self.proxies {
            let address = through.address.as_str();
            let proxy = match through.scheme {
                Scheme::Http => Proxy::http(address),
                Scheme::Https => Proxy::https(address),
                Scheme::All => Proxy::all(address),
            };
            let proxy =
                proxy.map_err(|_| format!("The value of {} is not a proxy URL.", through.variable))?;
            let past = format!("{LOOPBACK},{}", self.no_proxy.as_deref().unwrap_or_default());
            let past = NoProxy::from_string(past.trim_end_matches(','));
            builder = builder.proxy(proxy.no_proxy(past));
        }
        if let Some((named_by, path)) = &self.certificates {
            let unusable =
                |reason: String| format!("The certificates that {named_by} names cannot be used: {reason}.");
            builder = builder.tls_certs_merge(certificates(path).map_err(unusable)?);
        }
        builder.build().map_err(|error| format!("No HTTP client can be made: {}.", cause(&error)))
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let found = Certificate::from_pem_bundle(&text).map_err(|error| cause(&error))?;
    if found.is_empty() { Err("there is none in the file".to_owned()) } else { Ok(found) }
}

/// The innermost reason of an error: the outer ones name addresses, which may hold secrets.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn client(variables: &[(&str, &str)]) -> Client {
        Client::new(&Settings::default(), &|name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn fm_f71_a_proxy_or_certificates_that_cannot_be_used_are_named_by_their_variable() {
        let text = |variables: &[(&str, &str)]| client(variables).get().unwrap_err().text;
        let of_proxy = text(&[("HTTPS_PROXY", "::canary secret::")]);
        assert_eq!(of_proxy, "The value of HTTPS_PROXY is not a proxy URL.");
        let of_file = text(&[("NODE_EXTRA_CA_CERTS", "/nowhere/at/all.pem")]);
        assert!(of_file.contains("NODE_EXTRA_CA_CERTS") && !of_file.contains("nowhere"), "{of_file}");
        let empty = tempfile::NamedTempFile::new().unwrap();
        let of_empty = text(&[("NODE_EXTRA_CA_CERTS", empty.path().to_str().unwrap())]);
        assert!(of_empty.contains("there is none"), "{of_empty}");
    }

    #[test]
    fn fm_f71_the_proxy_of_an_address_is_known_by_its_variable() {
        let client = client(&[
            ("https_proxy", "http://user:canary@127.0.0.1:1"),
            ("ALL_PROXY", "http://127.0.0.1:2"),
            ("NO_PROXY", "other.example,.example.org"),
        ]);
        let variable = |address: &str| client.variable_for(&Url::parse(address).unwrap());
        assert_eq!(variable("https://api.anthropic.com/v1"), Some("https_proxy"));
        assert_eq!(variable("http://model.example:9/"), Some("ALL_PROXY"));
        assert_eq!(variable("http://127.0.0.1:9/"), None);
        assert_eq!(variable("http://[::1]:9/"), None);
        assert_eq!(variable("http://localhost:9/"), None);
        assert_eq!(variable("https://a.example.org/"), None);
        assert!(!format!("{client:?}").contains("canary"));
        assert!(client.get().is_ok());
    }
}
