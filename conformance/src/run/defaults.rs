//! Default values of the options of a run.

use std::path::Path;

use agentese::types::Profile;
use serde_json::Value;

use crate::player::package;
use crate::suite::{Suite, SuiteError};

/// Returns the default number of concurrent cases: the number of cores.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// Finds the profile for a program and a dialect, if it is not on the command line. The candidates are
/// `PROGRAM-DIALECT` with the requested revision, then without it, then `PROGRAM` if its dialect is the
/// requested one. An unknown agent gets the files and the environment of the dialect's own profile. It does
/// not get properties of that profile's agent: name, version, missing features, expected failures.
///
/// # Errors
/// If there is no profile for the dialect, or if it is invalid.
pub fn profile_for(suite: &Suite, dialect: &str, command: &[String]) -> Result<Profile, SuiteError> {
    let family = dialect.split('@').next().unwrap_or_default();
    let program = command.first().map(|program| Path::new(program).file_name().unwrap_or_default());
    let program = program.map(|name| name.to_string_lossy().into_owned());
    // For a script, the program names in its package are candidates too.
    let names: Vec<String> = program.iter().cloned().chain(package_names(command)).collect();
    let known = suite.profiles();
    let is_of_dialect = |profile: &Profile| profile.dialect.split('@').next() == Some(family);
    let revision = dialect.strip_prefix(family).unwrap_or_default();
    let names_of = |program: &String| {
        let own = [format!("{program}-{dialect}"), format!("{program}{revision}")];
        own.into_iter().chain([format!("{program}-{family}"), program.clone()])
    };
    for name in names.iter().flat_map(names_of) {
        if known.contains(&name) {
            let profile = suite.profile(&name)?;
            if is_of_dialect(&profile) {
                return Ok(profile);
            }
        }
    }
    let own = if known.iter().any(|name| name == dialect) { dialect } else { family };
    let mut profile = suite.profile(own)?;
    if let Some(program) = program {
        profile.name = format!("{family} (unknown agent)");
        profile.agent = program;
        profile.version = None;
        profile.claims = None;
        profile.choices = None;
        profile.expected_failures = None;
    }
    Ok(profile)
}

/// Returns the program names in the package of the script that the command line starts.
fn package_names(command: &[String]) -> Vec<String> {
    let names = || {
        let text = std::fs::read_to_string(package(command)?.join("package.json")).ok()?;
        let package: Value = serde_json::from_str(&text).ok()?;
        match package.get("bin")? {
            Value::Object(programs) => Some(programs.keys().cloned().collect()),
            Value::String(_) => Some(vec![package.get("name")?.as_str()?.rsplit('/').next()?.to_owned()]),
            _ => None,
        }
    };
    names().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_a_package_is_known_by_the_name_of_its_program() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("dist/cli.js");
        std::fs::create_dir(folder.path().join("dist")).unwrap();
        std::fs::write(&script, "").unwrap();
        let profile = |bin: &str| {
            std::fs::write(
                folder.path().join("package.json"),
                format!(r#"{{"name": "@x/y", "bin": {bin}}}"#),
            )
            .unwrap();
            let command = ["node".to_owned(), script.to_str().unwrap().to_owned(), "--mode".to_owned()];
            profile_for(&Suite::embedded(), "pi", &command).unwrap()
        };
        let found = profile(r#"{"pi": "dist/cli.js"}"#);
        assert_eq!((found.name.as_str(), found.expected_failures.as_deref()), ("pi", Some("pi")));
        // A package with another name belongs to an unknown agent.
        for other in [r#"{"other": "dist/cli.js"}"#, r#""dist/cli.js""#] {
            let found = profile(other);
            assert_eq!((found.agent.as_str(), found.expected_failures, found.choices), ("node", None, None));
        }
    }
}
