//! Secrets in a definition: values of variables, values of headers, and credentials in an address.

use std::borrow::Cow;
use std::sync::Arc;

use super::definition::{ServerDefinition, TransportConfig};
use crate::providers::{ExposeSecret, SecretString};
use crate::tools::StderrFilter;

/// Minimum length of a secret, in bytes. Shorter values are not hidden, because they occur in too many other texts.
const SHORTEST: usize = 6;
const HIDDEN: &str = "***";

/// The secrets of one server, omitted from debug output.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<[SecretString]>);

impl Secrets {
    /// Collects the secrets of a definition.
    pub fn of(definition: &ServerDefinition) -> Self {
        let mut values: Vec<&str> = definition.variable_values.0.iter().map(String::as_str).collect();
        match &definition.transport {
            TransportConfig::Program { environment, .. } => {
                values.extend(environment.iter().filter_map(|(_, value)| value.to_str()));
            }
            TransportConfig::Http { url, headers } => {
                for (_, value) in headers {
                    // The scheme before the key is not secret.
                    values.push(value.split_once(' ').map_or(value.as_str(), |(_, key)| key));
                }
                values.extend(url.split_once('?').map(|(_, query)| query));
                let address = url.split_once("://").map_or(url.as_str(), |(_, address)| address);
                let host = address.split('/').next().unwrap_or_default();
                values.extend(host.rsplit_once('@').map(|(user, _)| user));
            }
            TransportConfig::Invalid(_) => {}
        }
        Self::from_values(values)
    }

    /// Creates secrets from values. Each line of a value becomes a separate secret, because output is processed line by
    /// line.
    pub fn from_values(values: Vec<&str>) -> Self {
        let mut values: Vec<&str> = values.into_iter().flat_map(str::lines).map(str::trim).collect();
        values.retain(|value| value.len() >= SHORTEST);
        // A longer value may contain a shorter one.
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values.into_iter().map(SecretString::from).collect())
    }

    /// Returns the text with each secret replaced.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| {
            let secret = secret.expose_secret();
            if text.contains(secret) { Cow::Owned(text.replace(secret, HIDDEN)) } else { text }
        })
    }
}

impl StderrFilter for Secrets {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact(text)
    }

    fn split_point(&self, text: &str) -> usize {
        let mut at = text.len();
        loop {
            let before = at;
            for secret in self.0.iter().map(ExposeSecret::expose_secret) {
                // The cut precedes a secret that may begin at the end of the text, and a secret that it would
                // split.
                at = at.min(partial_secret_start(text, secret)).min(straddling(text, secret, at));
            }
            if at == before {
                return at;
            }
        }
    }
}

/// Returns the position of a possible beginning of the secret at the end of the text, which the text cuts
/// off. Returns the length of the text if no secret begins there.
fn partial_secret_start(text: &str, secret: &str) -> usize {
    let longest = text.len().min(secret.len() - 1);
    let length = (1..=longest).rev().find(|length| {
        secret.is_char_boundary(*length) && text.as_bytes().ends_with(&secret.as_bytes()[..*length])
    });
    text.len() - length.unwrap_or(0)
}

/// Returns the start of a secret that extends over position `at`. Returns `at` if there is no such secret.
fn straddling(text: &str, secret: &str, at: usize) -> usize {
    let starts = text.match_indices(secret).map(|(start, _)| start);
    let both_sides = |start: &usize| *start < at && at < *start + secret.len();
    starts.take_while(|start| *start < at).find(both_sides).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::super::definition::VariableValues;
    use super::*;

    fn definition(launch: TransportConfig, filled: &[&str]) -> ServerDefinition {
        ServerDefinition {
            name: "s".to_owned(),
            file: "".into(),
            transport: launch,
            variable_values: VariableValues(filled.iter().map(|text| (*text).to_owned()).collect()),
            disabled: false,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            call_timeout: None,
        }
    }

    fn program(environment: &[(&str, &str)]) -> TransportConfig {
        TransportConfig::Program {
            program: "x".into(),
            arguments: Vec::new(),
            environment: environment.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: "/".into(),
        }
    }

    #[test]
    fn fm_f118_values_of_headers_variables_and_addresses_are_hidden() {
        let http = TransportConfig::Http {
            url: "https://user:password@host.example/mcp?key=in-the-query".to_owned(),
            headers: vec![("Authorization".to_owned(), "Bearer in-the-header".to_owned())],
        };
        let http = definition(http, &["in-the-path"]);
        let secrets = Secrets::of(&http);
        let text = "cannot reach https://user:password@host.example/mcp?key=in-the-query with in-the-header";
        assert_eq!(secrets.redact(text), "cannot reach https://***@host.example/mcp?*** with ***");
        assert_eq!(secrets.redact("no /mcp/in-the-path/x"), "no /mcp/***/x");
        let program = definition(program(&[("KEY", "canary"), ("DEBUG", "1")]), &[]);
        assert_eq!(Secrets::of(&program).redact("1 canary"), "1 ***");
        assert!(!format!("{:?} {program:?} {http:?}", Secrets::of(&program)).contains("canary"));
        assert!(!format!("{http:?}").contains("in-the"));
    }

    #[test]
    fn fm_f118_each_line_of_a_value_is_hidden() {
        let key = "-----BEGIN KEY-----\r\n  canary-one\r\ncanary-two\n-----END KEY-----\n";
        let secrets = Secrets::of(&definition(program(&[("KEY", key)]), &[]));
        for line in key.lines() {
            assert_eq!(
                secrets.redact(&format!("bad line: {line}")).trim_end(),
                format!("bad line: {}***", if line.starts_with(' ') { "  " } else { "" })
            );
        }
    }

    #[test]
    fn fm_f118_a_text_is_not_cut_within_a_secret() {
        let secrets = Secrets::of(&definition(program(&[("A", "canary"), ("B", "aryaryx")]), &[]));
        for (text, at) in [
            ("all of it", 9),
            ("a can", 2),
            ("a canary", 2),
            ("a canary.", 9),
            ("can canar", 4),
            ("c", 0),
            ("\u{e9}canary\u{e9}", 10),
        ] {
            assert_eq!(secrets.split_point(text), at, "{text}");
        }
    }
}
