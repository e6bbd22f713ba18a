//! What of the user's settings providers look at.

use std::path::PathBuf;
use std::time::Duration;

use agentese::types::ThinkingLevel;

use super::complaint::Complaint;
use crate::config::{Environment, NetworkSettings, ProxyUrl, TimeLimit};

/// How requests are made and how long they are waited for. The default is what pi does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many tokens models with a budget may think, by level.
    pub budgets: Budgets,
    /// How long no byte may come, before and within an answer.
    pub idle_timeout: Duration,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// How often a request is repeated that got no answer.
    pub repeats: u32,
    /// The URL of the proxy, if the environment names none; may hold a password.
    pub proxy: Option<ProxyUrl>,
    /// A file of certificates in PEM form that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// What providers are asked to keep in their caches.
    pub cache: Cache,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: Budgets::default(),
            idle_timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(30),
            repeats: 2,
            proxy: None,
            ca_file: None,
            cache: Cache::default(),
        }
    }
}

/// Variables with the limits of time, before the settings.
const CONNECT_TIMEOUT: &str = "AGENTESE_HTTP_CONNECT_TIMEOUT_MS";
const IDLE_TIMEOUT: &str = "AGENTESE_HTTP_IDLE_TIMEOUT_MS";

impl Settings {
    /// Returns these with the settings of the network, after those of the environment. Values of the environment that
    /// are no limits become complaints.
    pub fn with_network(
        mut self,
        network: &NetworkSettings,
        environment: &dyn Environment,
    ) -> (Self, Vec<Complaint>) {
        let mut complaints = Vec::new();
        let mut limit = |variable: &str, setting: Option<TimeLimit>, usual: Duration| {
            let value = environment.get(variable).filter(|value| !value.is_empty());
            let named = value.as_ref().map(|value| value.to_str().and_then(TimeLimit::named));
            if named == Some(None) {
                let reason =
                    format!("{variable} is neither a number of milliseconds nor \"disabled\"; it is ignored");
                complaints.push(Complaint { path: "the environment".into(), reason });
            }
            named.flatten().or(setting).map_or(usual, TimeLimit::duration)
        };
        self.connect_timeout = limit(CONNECT_TIMEOUT, network.connect_timeout, self.connect_timeout);
        self.idle_timeout = limit(IDLE_TIMEOUT, network.idle_timeout, self.idle_timeout);
        self.proxy.clone_from(&network.proxy);
        self.ca_file.clone_from(&network.ca_file);
        (self, complaints)
    }
}

/// What providers are asked to keep in their caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cache {
    /// Nothing.
    None,
    /// For minutes.
    #[default]
    Short,
    /// For hours, where the provider offers it at its own host.
    Long,
}

impl Cache {
    /// As `PI_CACHE_RETENTION` says it; short for what is unknown.
    pub fn named(name: &str) -> Self {
        match name {
            "none" => Self::None,
            "long" => Self::Long,
            _ => Self::Short,
        }
    }
}

/// Tokens for thinking, by level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// At `minimal`.
    pub minimal: u64,
    /// At `low`.
    pub low: u64,
    /// At `medium`.
    pub medium: u64,
    /// At `high`, and at `xhigh`.
    pub high: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self { minimal: 1024, low: 2048, medium: 8192, high: 16_384 }
    }
}

impl Budgets {
    /// The tokens of a level; none at `off`.
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
