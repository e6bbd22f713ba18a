//! The seam to the Node host, which runs extensions that were written for pi.

use std::ffi::OsString;

/// The variable that names the host's file, for those who build one.
pub const NODE_HOST: &str = "AGENTESE_NODE_HOST";

/// How the Node host is started: a program and its arguments. The paths of its extensions are in the
/// first frame, as for every other process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeHost(Option<Vec<OsString>>);

impl NodeHost {
    /// There is none: its extensions cannot be loaded, and the error says so.
    pub const MISSING: Self = Self(None);

    /// What that says in place of each extension.
    pub const REASON: &str = "it needs the Node host, which this build does not have";

    /// The one that `node` runs from this file.
    pub fn file(file: impl Into<OsString>) -> Self {
        Self(Some(vec!["node".into(), file.into()]))
    }

    /// The one that the environment names.
    pub fn of(environment: &dyn crate::config::Environment) -> Self {
        environment.get(NODE_HOST).filter(|file| !file.is_empty()).map_or(Self::MISSING, Self::file)
    }

    /// Its command line; none where there is none.
    pub fn command(&self) -> Option<&[OsString]> {
        self.0.as_deref()
    }
}
