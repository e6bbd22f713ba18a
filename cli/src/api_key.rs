//! A key of a provider, on its way from the command line.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A key. What shows the options, or what was made of them, does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiKey(String);

impl ApiKey {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.reveal().trim().is_empty()
    }

    /// The key itself, for the one who sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl FromStr for ApiKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(a key)")
    }
}
