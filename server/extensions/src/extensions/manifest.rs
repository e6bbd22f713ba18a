//! `extension.json`: states the start command of an extension that is not an executable file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::config::read_text;

/// The name of the file.
pub(super) const MANIFEST: &str = "extension.json";

/// Maximum length of a manifest, in bytes.
const MAX_LENGTH: u64 = 64 << 10;

/// Contents of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    /// The file to run, beside the manifest.
    pub entry: PathBuf,
    /// The program that runs the file, with its arguments. Empty if the file is executable.
    pub runtime: Vec<OsString>,
    /// Arguments that follow the file.
    pub arguments: Vec<OsString>,
    /// True if the extension guards tools. `None` if the manifest does not state it.
    pub guards: Option<bool>,
}

/// Reads a manifest. Fails if the manifest is not valid; the error is phrased as the end of a sentence.
pub(super) fn read(file: &Path) -> Result<Manifest, String> {
    let text = read_text(file, MAX_LENGTH).map_err(|error| error.to_string())?;
    if text.truncated {
        return Err(format!("it is longer than {MAX_LENGTH} bytes"));
    }
    let value: Value = serde_json::from_str(&text.text).map_err(|error| error.to_string())?;
    let Value::Object(members) = value else { return Err("expected an object".to_owned()) };
    parse(file.parent().unwrap_or(Path::new(".")), &members)
}

fn parse(folder: &Path, members: &Map<String, Value>) -> Result<Manifest, String> {
    const KNOWN: [&str; 5] = ["name", "runtime", "entry", "arguments", "guards"];
    if let Some(unknown) = members.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(format!("unknown member `{unknown}`; known: {}", KNOWN.join(", ")));
    }
    let entry = match members.get("entry") {
        Some(Value::String(entry)) if !entry.is_empty() => folder.join(entry),
        Some(_) => return Err("`entry` must name a file".to_owned()),
        None => return Err("`entry` is missing: name the file to run".to_owned()),
    };
    if !entry.is_file() {
        return Err(format!("{} does not exist", entry.display()));
    }
    let mut runtime = string_list(members, "runtime")?;
    // A path is relative to the manifest; a name is searched for as in a shell.
    if let Some(program) = runtime.first_mut().filter(|program| program.to_string_lossy().contains('/')) {
        *program = folder.join(&*program).into_os_string();
    }
    let guards = match members.get("guards") {
        None => None,
        Some(Value::Bool(guards)) => Some(*guards),
        Some(_) => return Err("`guards` must be true or false".to_owned()),
    };
    Ok(Manifest { entry, runtime, arguments: string_list(members, "arguments")?, guards })
}

/// Returns a member that is a text or a list of texts, as a list.
fn string_list(members: &Map<String, Value>, name: &str) -> Result<Vec<OsString>, String> {
    let wrong = || format!("`{name}` must be a string or a list of strings");
    match members.get(name) {
        None => Ok(Vec::new()),
        Some(Value::String(word)) => Ok(vec![word.into()]),
        Some(Value::Array(words)) => {
            words.iter().map(|word| word.as_str().map(OsString::from).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_manifests_fail_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(MANIFEST);
        std::fs::write(folder.path().join("main.py"), "").unwrap();
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            read(&file)
        };
        let manifest = read(r#"{"name": "x", "runtime": ["python3", "-u"], "entry": "main.py"}"#).unwrap();
        assert_eq!(manifest.runtime, ["python3", "-u"]);
        assert_eq!(manifest.entry, folder.path().join("main.py"));
        let manifest =
            read(r#"{"runtime": "./venv/python", "entry": "main.py", "arguments": "-q"}"#).unwrap();
        assert_eq!(manifest.runtime, [folder.path().join("./venv/python").into_os_string()]);
        assert_eq!(manifest.arguments, ["-q"]);
        for (text, part) in [
            ("[]", "an object"),
            ("{", "EOF"),
            (r#"{"runtime": "python3"}"#, "`entry` is missing"),
            (r#"{"entry": 7}"#, "`entry` must name a file"),
            (r#"{"entry": "gone.py"}"#, "does not exist"),
            (r#"{"entry": "main.py", "runtime": 7}"#, "`runtime` must be"),
            (r#"{"entry": "main.py", "arguments": [7]}"#, "`arguments` must be"),
            (r#"{"entry": "main.py", "runtme": "x"}"#, "unknown member `runtme`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
