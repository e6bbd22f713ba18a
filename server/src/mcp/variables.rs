//! `${…}` in the texts of a server's definition.

use std::path::Path;

use crate::config::Environment;

/// What placeholders stand for.
pub(super) struct Variables<'a> {
    pub environment: &'a dyn Environment,
    /// The working directory.
    pub workspace: &'a Path,
    pub home: Option<&'a Path>,
}

impl Variables<'_> {
    /// The text with every placeholder filled: `${NAME}`, `${NAME:-default}` and `${env:NAME}` with a variable of the
    /// environment, `${workspaceFolder}`, `${workspaceFolderBasename}` and `${userHome}` with a directory. What has
    /// another form stays as it is. Fails, naming it, for a variable that is not set and for a question to the user.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let Some((name, after)) = rest[at + 2..].split_once('}') else { break };
            filled.push_str(&rest[..at]);
            match self.value(name)? {
                Some(value) => filled.push_str(&value),
                None => filled.push_str(&rest[at..rest.len() - after.len()]),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// What a placeholder stands for; none where it is not one.
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
                "it asks the user for \"{input}\", which is not supported; put it into a variable"
            ));
        }
        let (name, default) = match placeholder.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (placeholder, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
        if !is_name {
            return Ok(None);
        }
        // In a shell the default counts for an empty variable as well.
        let set = self.environment.get(name).filter(|value| default.is_none() || !value.is_empty());
        match (set, default) {
            (Some(value), _) => match value.into_string() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(format!("the environment variable {name} is no text")),
            },
            (None, Some(default)) => Ok(Some(default.to_owned())),
            (None, None) => Err(format!("the environment variable {name} is not set")),
        }
    }
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
            .fill(text)
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
    fn what_is_missing_is_named_and_its_neighbours_are_not_shown() {
        assert_eq!(fill("${KEY} ${NONE}"), Err("the environment variable NONE is not set".to_owned()));
        assert!(fill("${input:token}").unwrap_err().contains("\"token\""));
    }
}
