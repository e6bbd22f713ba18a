//! The user's settings for providers.

use std::path::PathBuf;
use std::time::Duration;

use agentese::types::ThinkingLevel;

use super::config_warning::ConfigWarning;
use crate::config::{Environment, NetworkSettings, ProxyUrl, TimeLimit};

/// Settings for requests to providers. The defaults are the same as in pi.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Number of thinking tokens for each level, for models that take a number.
    pub budgets: ThinkingTokens,
    /// Maximum wait for the next byte of an answer, including its first byte.
    pub idle_timeout: Duration,
    /// Maximum wait for a connection.
    pub connect_timeout: Duration,
    /// Maximum number of times that a request without an answer is sent again.
    pub max_retries: u32,
    /// URL of a proxy that is used if no environment variable sets one. It can contain a password.
    pub proxy: Option<ProxyUrl>,
    /// File with certificates in PEM form that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Time for which providers should cache requests.
    pub cache: CacheRetention,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: ThinkingTokens::default(),
            idle_timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(30),
            max_retries: 2,
            proxy: None,
            ca_file: None,
            cache: CacheRetention::default(),
        }
    }
}

/// Environment variables for timeouts. They override the settings.
const CONNECT_TIMEOUT: &str = "AGENTESE_HTTP_CONNECT_TIMEOUT_MS";
const IDLE_TIMEOUT: &str = "AGENTESE_HTTP_IDLE_TIMEOUT_MS";

impl Settings {
    /// Adds the network settings. Environment variables override them. An invalid value in the environment becomes a
    /// warning.
    pub fn with_network(
        mut self,
        network: &NetworkSettings,
        environment: &dyn Environment,
    ) -> (Self, Vec<ConfigWarning>) {
        let mut warnings = Vec::new();
        let mut limit = |variable: &str, setting: Option<TimeLimit>, usual: Duration| {
            let value = environment.get(variable).filter(|value| !value.is_empty());
            let named = value.as_ref().map(|value| value.to_str().and_then(TimeLimit::parse));
            if named == Some(None) {
                let reason =
                    format!("{variable} is neither a number of milliseconds nor \"disabled\"; it is ignored");
                warnings.push(ConfigWarning { path: "the environment".into(), reason });
            }
            named.flatten().or(setting).map_or(usual, TimeLimit::duration)
        };
        self.connect_timeout = limit(CONNECT_TIMEOUT, network.connect_timeout, self.connect_timeout);
        self.idle_timeout = limit(IDLE_TIMEOUT, network.idle_timeout, self.idle_timeout);
        self.proxy.clone_from(&network.proxy);
        self.ca_file.clone_from(&network.ca_file);
        (self, warnings)
    }
}

/// Time for which providers should cache requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheRetention {
    /// Requests are not cached.
    None,
    /// Requests are cached for several minutes.
    #[default]
    Short,
    /// Requests are cached for several hours, if the provider offers this at its own host.
    Long,
}

impl CacheRetention {
    /// Parses a value of `PI_CACHE_RETENTION`. An unknown value means `Short`.
    pub fn named(name: &str) -> Self {
        match name {
            "none" => Self::None,
            "long" => Self::Long,
            _ => Self::Short,
        }
    }
}

/// Number of thinking tokens for each level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkingTokens {
    /// Number of tokens at `minimal`.
    pub minimal: u64,
    /// Number of tokens at `low`.
    pub low: u64,
    /// Number of tokens at `medium`.
    pub medium: u64,
    /// Number of tokens at `high` and `xhigh`.
    pub high: u64,
}

impl Default for ThinkingTokens {
    fn default() -> Self {
        Self { minimal: 1024, low: 2048, medium: 8192, high: 16_384 }
    }
}

impl ThinkingTokens {
    /// Returns the number of thinking tokens for a level; `None` for `off`.
    pub fn of(&self, level: ThinkingLevel) -> Option<u64> {
        match level {
            ThinkingLevel::Off => None,
            ThinkingLevel::Minimal => Some(self.minimal),
            ThinkingLevel::Low => Some(self.low),
            ThinkingLevel::Medium | ThinkingLevel::Auto => Some(self.medium),
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => Some(self.high),
        }
    }
}
