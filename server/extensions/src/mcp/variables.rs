//! Placeholders `${…}` in the definition of a server.

use std::path::Path;

use serde_json::Value;

use crate::config::Environment;

/// The values that replace placeholders.
pub(super) struct Variables<'a> {
    pub environment: &'a dyn Environment,
    /// The working directory.
    pub workspace: &'a Path,
    pub home: Option<&'a Path>,
}

impl Variables<'_> {
    /// Replaces the placeholders in a text.
    ///
    /// - `${NAME}`, `${NAME:-default}`, `${env:NAME}`: an environment variable
    /// - `${workspaceFolder}`, `${workspaceFolderBasename}`, `${userHome}`: a directory
    ///
    /// Any other form stays unchanged. Fails if a variable is not set, or if a placeholder requires user input; the
    /// error names the placeholder.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        for part in parts(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Placeholder { name, text: whole } => {
                    filled.push_str(self.value(name)?.as_deref().unwrap_or(whole));
                }
            }
        }
        Ok(filled)
    }

    /// Returns the values of all environment variables that the texts in a value refer to.
    pub fn values(&self, value: &Value) -> Vec<String> {
        match value {
            Value::String(text) => {
                let names = parts(text).filter_map(|part| match part {
                    Part::Placeholder { name, .. } => variable(name),
                    Part::Text(_) => None,
                });
                names.filter_map(|(name, _)| self.environment.get(name)?.into_string().ok()).collect()
            }
            Value::Array(values) => values.iter().flat_map(|value| self.values(value)).collect(),
            Value::Object(members) => members.values().flat_map(|value| self.values(value)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the value of a placeholder. Returns `None` if its form is unknown. Fails if it has no value.
    fn value(&self, placeholder: &str) -> Result<Option<String>, String> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        match placeholder {
            "workspaceFolder" | "workspaceRoot" => return Ok(Some(shown(self.workspace))),
            "workspaceFolderBasename" => {
                return Ok(Some(
                    self.workspace.file_name().map(|name| shown(name.as_ref())).unwrap_or_default(),
                ));
            }
            "userHome" => {
                return self.home.map(shown).map(Some).ok_or_else(|| "there is no home directory".to_owned());
            }
            "pathSeparator" | "/" => return Ok(Some("/".to_owned())),
            _ => {}
        }
        if let Some(input) = placeholder.strip_prefix("input:") {
            return Err(format!(
                "it requires the user input \"{input}\", which is not supported; put it into a variable"
            ));
        }
        let Some((name, default)) = variable(placeholder) else { return Ok(None) };
        // As in a shell, the default also replaces an empty variable.
        let set = self.environment.get(name).filter(|value| default.is_none() || !value.is_empty());
        match (set, default) {
            (Some(value), _) => match value.into_string() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(format!("the environment variable {name} is not valid UTF-8")),
            },
            (None, Some(default)) => Ok(Some(default.to_owned())),
            (None, None) => Err(format!("the environment variable {name} is not set")),
        }
    }
}

/// A part of a text.
enum Part<'a> {
    Text(&'a str),
    /// A placeholder: its name, and its whole text.
    Placeholder {
        name: &'a str,
        text: &'a str,
    },
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if let Some(inner) = rest.strip_prefix("${")
            && let Some((name, after)) = inner.split_once('}')
        {
            let whole = &rest[..rest.len() - after.len()];
            rest = after;
            return Some(Part::Placeholder { name, text: whole });
        }
        // The first character is always text.
        let first = rest.chars().next()?.len_utf8();
        let (text, after) = rest.split_at(rest[first..].find("${").map_or(rest.len(), |at| first + at));
        rest = after;
        Some(Part::Text(text))
    })
}

/// Returns the variable and the default in a placeholder. Returns `None` if the placeholder is not a variable.
fn variable(placeholder: &str) -> Option<(&str, Option<&str>)> {
    let (name, default) = match placeholder.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (placeholder, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_name = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    is_name.then_some((name, default))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn fill(text: &str) -> Result<String, String> {
        let environment = |name: &str| match name {
            "KEY" => Some(OsString::from("secret")),
            "EMPTY" => Some(OsString::new()),
            _ => None,
        };
        let home = Path::new("/home/ann");
        Variables { environment: &environment, workspace: Path::new("/place/here"), home: Some(home) }
            .expand(text)
    }

    #[test]
    fn placeholders_are_filled_in_every_form_that_the_files_use() {
        for (text, filled) in [
            ("Bearer ${KEY}", "Bearer secret"),
            ("${env:KEY}${KEY}", "secretsecret"),
            ("${NONE:-a b}|${EMPTY:-c}|${EMPTY}|${NONE:-}", "a b|c||"),
            ("${workspaceFolder}/x ${workspaceFolderBasename} ${userHome}", "/place/here/x here /home/ann"),
            ("$KEY $${KEY} ${not a name} ${1} ${", "$KEY $secret ${not a name} ${1} ${"),
            ("plain", "plain"),
        ] {
            assert_eq!(fill(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn missing_variables_are_named_without_the_values_of_others() {
        assert_eq!(fill("${KEY} ${NONE}"), Err("the environment variable NONE is not set".to_owned()));
        assert!(fill("${input:token}").unwrap_err().contains("\"token\""));
    }
}
