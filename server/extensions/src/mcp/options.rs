//! Options of the servers of a conversation.

use std::ffi::OsString;
use std::sync::Arc;

use super::definition::Definition;
use super::limits::Limits;
use super::pool::Pool;
use crate::providers::{self, HttpClient};
use crate::world::{Clock, SystemClock};

/// What the servers of a conversation are made of.
#[derive(Clone)]
pub struct Options {
    /// The servers.
    pub definitions: Vec<Definition>,
    /// How patient the agent is with them.
    pub limits: Limits,
    /// Only these of their tools count; none: all of them. See [`Servers::choose`](super::Servers::choose).
    pub chosen: Option<Vec<String>>,
    /// Variables that servers do not get unless their definition gives them.
    pub hidden: Vec<OsString>,
    /// How servers that listen are reached.
    pub http: Arc<HttpClient>,
    /// The servers that run; conversations with the same pool share them.
    pub pool: Pool,
    /// The clock that spaces out the lists of a server which tells of many changes.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        let nothing = |_: &str| None;
        Self {
            definitions: Vec::new(),
            limits: Limits::default(),
            chosen: None,
            hidden: Vec::new(),
            http: Arc::new(HttpClient::new(&providers::Settings::default(), &nothing)),
            pool: Pool::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Options")
            .field("definitions", &self.definitions)
            .field("limits", &self.limits)
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}
