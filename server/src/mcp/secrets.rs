//! Texts of a definition that nobody is to see: values of variables and headers, what an address carries.

use std::borrow::Cow;
use std::sync::Arc;

use super::definition::Launch;
use crate::providers::{ExposeSecret, SecretString};

/// Shorter values hide nothing, and stand in too many other words.
const SHORTEST: usize = 6;
const HIDDEN: &str = "***";

/// The secrets of one server. Does not show them.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<[SecretString]>);

impl Secrets {
    /// Those of a definition.
    pub fn of(launch: &Launch) -> Self {
        let mut values: Vec<&str> = Vec::new();
        match launch {
            Launch::Program { environment, .. } => {
                values.extend(environment.iter().filter_map(|(_, value)| value.to_str()));
            }
            Launch::Http { url, headers } => {
                for (_, value) in headers {
                    // The word before the key is no secret.
                    values.push(value.split_once(' ').map_or(value.as_str(), |(_, key)| key));
                }
                values.extend(url.split_once('?').map(|(_, query)| query));
                let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address);
                let host = address.split('/').next().unwrap_or_default();
                values.extend(host.rsplit_once('@').map(|(user, _)| user));
            }
            Launch::Never(_) => {}
        }
        values.retain(|value| value.len() >= SHORTEST);
        // A longer one may have a shorter one in it.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values.into_iter().map(SecretString::from).collect())
    }

    /// The text without them.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| {
            let secret = secret.expose_secret();
            if text.contains(secret) { Cow::Owned(text.replace(secret, HIDDEN)) } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f118_values_of_headers_variables_and_addresses_are_hidden() {
        let http = Launch::Http {
            url: "https://user:password@host.example/mcp?key=in-the-query".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer in-the-header".to_owned())],
        };
        let text = "cannot reach https://user:password@host.example/mcp?key=in-the-query with in-the-header";
        assert_eq!(Secrets::of(&http).hide(text), "cannot reach https://***@host.example/mcp?*** with ***");
        let program = Launch::Program {
            program: "x".into(),
            arguments: Vec::new(),
            environment: vec![("KEY".into(), "canary".into()), ("DEBUG".into(), "1".into())],
            cwd: "/".into(),
        };
        assert_eq!(Secrets::of(&program).hide("1 canary"), "1 ***");
        assert!(!format!("{:?} {program:?} {http:?}", Secrets::of(&program)).contains("canary"));
        assert!(!format!("{http:?}").contains("in-the"));
    }
}
