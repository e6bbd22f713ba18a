//! API key from the command line.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// API key. It does not appear in the `Debug` output of this value, nor of values that contain it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiKey(String);

impl ApiKey {
    /// Returns `true` if the key is blank.
    pub fn is_empty(&self) -> bool {
        self.reveal().trim().is_empty()
    }

    /// Returns the key itself for a request.
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
