//! The HTTP client: trusted certificates, proxies and redirects.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, NoProxy, Proxy, Url};

use crate::config::Environment;
use crate::{ProviderError, ProviderErrorKind, Settings};

/// Maximum number of redirects that one request follows.
pub const MOST_REDIRECTS: usize = 5;
/// HTTP statuses of redirects after which the request is sent again unchanged.
pub const PRESERVING_STATUSES: &[u16] = &[307, 308];

const USER_AGENT: &str = concat!("agentese/", env!("CARGO_PKG_VERSION"));

/// Environment variables with the address of a proxy, for each scheme. The first variable that is set applies. Lower
/// case comes first, as in curl.
const PROXIES: [(Scheme, &[&str]); 3] = [
    (Scheme::Https, &["https_proxy", "HTTPS_PROXY"]),
    (Scheme::Http, &["http_proxy", "HTTP_PROXY"]),
    (Scheme::All, &["all_proxy", "ALL_PROXY"]),
];
const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];
/// Addresses of this machine. Requests to them use no proxy.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";
/// Variables with files and folders of certificates that replace the certificates of the system, as in OpenSSL.
const ROOT_FILES: &str = "SSL_CERT_FILE";
const ROOT_FOLDERS: &str = "SSL_CERT_DIR";
/// The variable and the setting with a file of additional trusted certificates.
const MORE_CERTIFICATES: &str = "NODE_EXTRA_CA_CERTS";
const CA_FILE: &str = "httpCaFile";
/// Name of the setting for a proxy.
const PROXY: &str = "httpProxy";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    All,
}

/// The HTTP client and its configuration. The client is created for the first request, because reading the system's
/// certificates is the slowest step of a start.
#[derive(Debug)]
pub struct Client {
    connect_timeout: Duration,
    proxies: Vec<ProxyConfig>,
    no_proxy: Option<String>,
    certificates: Vec<CertificateSource>,
    client: OnceLock<Result<reqwest::Client, String>>,
}

/// A file or folder of certificates, with the variable or setting that contains its path.
#[derive(Debug)]
struct CertificateSource {
    named_by: &'static str,
    path: PathBuf,
    /// `true` if the certificates replace the certificates of the system.
    replaces_system: bool,
}

struct ProxyConfig {
    scheme: Scheme,
    /// Name of the variable or setting that contains the address.
    variable: &'static str,
    /// Address of the proxy. It can contain a password.
    address: String,
}

impl std::fmt::Debug for ProxyConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProxyConfig").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client with the certificates and proxies of the settings and the environment.
    pub fn new(settings: &Settings, environment: &dyn Environment) -> Self {
        let set = |names: &[&'static str]| {
            names.iter().find_map(|name| {
                let value = environment.get(name)?.into_string().ok()?;
                (!value.is_empty()).then_some((*name, value))
            })
        };
        let named = |(scheme, names): &(Scheme, &[&'static str])| {
            set(names).map(|(variable, address)| ProxyConfig { scheme: *scheme, variable, address })
        };
        let mut proxies: Vec<ProxyConfig> = PROXIES.iter().filter_map(named).collect();
        // A proxy of the environment takes precedence over that of the settings.
        for scheme in [Scheme::Https, Scheme::Http] {
            let is_set = proxies.iter().any(|through| [scheme, Scheme::All].contains(&through.scheme));
            if let Some(url) = settings.proxy.as_ref().filter(|_| !is_set) {
                proxies.push(ProxyConfig { scheme, variable: PROXY, address: url.0.clone() });
            }
        }
        Self {
            connect_timeout: settings.connect_timeout,
            proxies,
            no_proxy: set(NO_PROXY).map(|(_, hosts)| hosts),
            certificates: CertificateSource::named(settings, environment),
            client: OnceLock::new(),
        }
    }

    /// Returns the HTTP client. Fails if a proxy or certificates cannot be used. The error contains the name of the
    /// variable or setting.
    pub fn get(&self) -> Result<&reqwest::Client, ProviderError> {
        let made = self.client.get_or_init(|| self.build());
        made.as_ref().map_err(|text| ProviderError::new(ProviderErrorKind::Network, text.clone()))
    }

    /// Returns the variable or setting with the proxy that requests to an address use, for error messages.
    pub fn variable_for(&self, address: &Url) -> Option<&'static str> {
        let through = self.proxies.iter().find(|through| match through.scheme {
            Scheme::Http => address.scheme() == "http",
            Scheme::Https => address.scheme() == "https",
            Scheme::All => true,
        })?;
        (!self.bypasses_proxy(address.host_str()?)).then_some(through.variable)
    }

    fn bypasses_proxy(&self, host: &str) -> bool {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
            return true;
        }
        let hosts = self.no_proxy.iter().flat_map(|hosts| hosts.split([',', ' ']));
        let hosts = hosts.map(|known| known.trim().trim_start_matches('.')).filter(|known| !known.is_empty());
        hosts.into_iter().any(|known| known == "*" || host == known || host.ends_with(&format!(".{known}")))
    }

    fn build(&self) -> Result<reqwest::Client, String> {
        // The program around this library may have chosen another provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // The environment at the start applies, not the current one of the process.
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .user_agent(USER_AGENT)
            // Compression is not requested, because hosts that compress delay pieces of the answer. A gateway may
            // compress all the same, and its answer is decoded.
            .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
            .redirect(Policy::custom(|attempt| {
                let from = attempt.previous().last().cloned();
                let same = from.is_some_and(|from| from.origin() == attempt.url().origin());
                // Other statuses turn a request into one without a body.
                let keeps = PRESERVING_STATUSES.contains(&attempt.status().as_u16());
                // Keys are in headers that the client does not recognize as secret.
                if keeps && same && attempt.previous().len() <= MOST_REDIRECTS {
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
        if self.connect_timeout < Duration::MAX {
            builder = builder.connect_timeout(self.connect_timeout);
        }
        let (instead, more): (Vec<_>, Vec<_>) =
            self.certificates.iter().partition(|source| source.replaces_system);
        let read = |source: &CertificateSource| {
            let unusable =
                |reason| format!("The certificates that {} names cannot be used: {reason}.", source.named_by);
            source.read().map_err(unusable)
        };
        let mut found = Vec::new();
        for source in more {
            found.extend(read(source)?);
        }
        // One of the locations is enough, as for OpenSSL.
        let roots: Vec<_> = instead.into_iter().map(read).collect();
        let is_missing = roots.iter().all(Result::is_err);
        if let Some(Err(reason)) = roots.first().filter(|_| is_missing) {
            return Err(reason.clone());
        }
        if !roots.is_empty() {
            found.extend(roots.into_iter().flatten().flatten());
            builder = builder.tls_certs_only(found);
        } else if !found.is_empty() {
            builder = builder.tls_certs_merge(found);
        }
        builder.build().map_err(|error| format!("The HTTP client cannot be created: {}.", root_cause(&error)))
    }
}

impl CertificateSource {
    fn named(settings: &Settings, environment: &dyn Environment) -> Vec<Self> {
        let variable = |name: &'static str, instead: bool| {
            let paths = environment.get(name).filter(|value| !value.is_empty());
            // Only folders form a list.
            let paths = paths.into_iter().flat_map(move |paths| match name {
                ROOT_FOLDERS => {
                    std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect()
                }
                _ => vec![PathBuf::from(paths)],
            });
            paths.map(move |path| Self { named_by: name, path, replaces_system: instead })
        };
        let setting =
            settings.ca_file.clone().map(|path| Self { named_by: CA_FILE, path, replaces_system: false });
        let roots = variable(ROOT_FILES, true).chain(variable(ROOT_FOLDERS, true));
        roots.chain(variable(MORE_CERTIFICATES, false)).chain(setting).collect()
    }

    /// Reads the certificates. Fails if the file or folder contains no certificate.
    fn read(&self) -> Result<Vec<Certificate>, String> {
        let found = if self.path.is_dir() { in_folder(&self.path)? } else { in_file(&self.path)? };
        if found.is_empty() { Err("no certificate was found".to_owned()) } else { Ok(found) }
    }
}

fn in_file(path: &Path) -> Result<Vec<Certificate>, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    Certificate::from_pem_bundle(&text).map_err(|error| root_cause(&error))
}

/// Returns the certificates of all files in a folder. A file with several names is read once; other files are skipped.
fn in_folder(path: &Path) -> Result<Vec<Certificate>, String> {
    let files = std::fs::read_dir(path).map_err(|error| error.to_string())?;
    // Hashed names are links to the files.
    let files = files.filter_map(|file| file.ok()?.path().canonicalize().ok()).filter(|path| path.is_file());
    let files: BTreeSet<PathBuf> = files.collect();
    Ok(files.iter().filter_map(|path| in_file(path).ok()).flatten().collect())
}

/// Returns the text of the innermost cause of an error. Outer errors contain addresses, which can contain secrets.
pub fn root_cause(error: &dyn std::error::Error) -> String {
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
    use crate::config::ProxyUrl;

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
        assert!(of_empty.contains("no certificate was found"), "{of_empty}");
    }

    #[test]
    fn certificates_in_place_of_the_system_s_are_read_from_a_file_or_folders() {
        let own = rcgen::generate_simple_self_signed(["model.example".to_owned()]).unwrap().cert.pem();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::create_dir_all(path("certs/within")).unwrap();
        std::fs::create_dir(path("empty")).unwrap();
        for (name, text) in [("own.pem", &*own), ("certs/a.pem", &*own), ("certs/readme", "no certificate")] {
            std::fs::write(path(name), text).unwrap();
        }
        let read = |name: &str, value: &str| {
            let client = client(&[(name, value)]);
            let read = client.certificates.iter().map(CertificateSource::read).collect::<Result<Vec<_>, _>>();
            let amount = read.map(|lists| lists.iter().map(Vec::len).sum::<usize>());
            (
                client.certificates.iter().all(|certificates| certificates.replaces_system),
                amount,
                client.get().is_ok(),
            )
        };
        assert_eq!(read("SSL_CERT_FILE", &path("own.pem")), (true, Ok(1), true));
        assert_eq!(read("SSL_CERT_DIR", &path("certs")), (true, Ok(1), true));
        assert_eq!(read("NODE_EXTRA_CA_CERTS", &path("own.pem")), (false, Ok(1), true));
        let none = || Err("no certificate was found".to_owned());
        assert_eq!(read("SSL_CERT_DIR", &path("empty")), (true, none(), false));
        assert_eq!(read("SSL_CERT_FILE", &path("certs/readme")), (true, none(), false));
        let (file, folder) = (path("own.pem"), path("nowhere"));
        assert!(client(&[("SSL_CERT_FILE", &file), ("SSL_CERT_DIR", &folder)]).get().is_ok());
        let text = client(&[("SSL_CERT_DIR", &path("empty"))]).get().unwrap_err().text;
        assert!(text.contains("SSL_CERT_DIR") && !text.contains("empty"), "{text}");
    }

    #[test]
    fn a_proxy_of_the_environment_precedes_that_of_the_settings() {
        let url = || Some(ProxyUrl("http://user:canary@127.0.0.1:3".to_owned()));
        let through = |variables: &[(&str, &str)], address: &str| {
            let settings = Settings { proxy: url(), ..Settings::default() };
            let client = Client::new(&settings, &|name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            });
            assert!(client.get().is_ok() && !format!("{client:?} {settings:?}").contains("canary"));
            client.variable_for(&Url::parse(address).unwrap())
        };
        let (https, http) = ("https://model.example", "http://model.example");
        assert_eq!([https, http].map(|to| through(&[], to)), [Some("httpProxy"); 2]);
        assert_eq!(through(&[], "http://127.0.0.1:1"), None);
        let one = [("HTTPS_PROXY", "http://127.0.0.1:1")];
        assert_eq!([https, http].map(|to| through(&one, to)), [Some("HTTPS_PROXY"), Some("httpProxy")]);
        let all = [("ALL_PROXY", "http://127.0.0.1:1")];
        assert_eq!([https, http].map(|to| through(&all, to)), [Some("ALL_PROXY"); 2]);
        let past = [("NO_PROXY", "other.example, model.example")];
        assert_eq!([https, http].map(|to| through(&past, to)), [None; 2]);
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
