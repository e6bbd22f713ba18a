//! Names of tools and properties that differ between a request and its tools.

use std::collections::HashMap;

use super::names::PropertyNames;

/// The names that were changed for a request.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// Name in the request by the tool's own name. Contains only tools whose name differs.
    pub(super) request_names: HashMap<String, String>,
    /// Renamed properties of each tool, by the tool's own name.
    pub(super) properties: HashMap<String, PropertyNames>,
}

impl Renames {
    pub fn is_empty(&self) -> bool {
        self.request_names.is_empty() && self.properties.is_empty()
    }

    /// Returns the tool's own name for its name in the request.
    pub fn original_name<'a>(&'a self, sent: &'a str) -> &'a str {
        self.request_names.iter().find(|(_, name)| *name == sent).map_or(sent, |(own, _)| own)
    }
}
