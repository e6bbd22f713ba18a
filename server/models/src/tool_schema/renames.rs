//! Names in a request that differ from those of its tools.

use std::collections::HashMap;

use super::names::PropertyNames;

/// Names that a request has in other forms.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// Name in requests by a tool's own name; only names that differ.
    pub(super) request_names: HashMap<String, String>,
    /// Names of a tool's properties, by the tool's own name.
    pub(super) properties: HashMap<String, PropertyNames>,
}

impl Renames {
    pub fn is_empty(&self) -> bool {
        self.request_names.is_empty() && self.properties.is_empty()
    }

    /// Returns the original name of a tool by its name in requests.
    pub fn original_name<'a>(&'a self, sent: &'a str) -> &'a str {
        self.request_names.iter().find(|(_, name)| *name == sent).map_or(sent, |(own, _)| own)
    }
}
