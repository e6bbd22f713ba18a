//! What a run takes where the command line does not say.

use std::path::Path;

use agentese::types::Profile;

use crate::suite::{Suite, SuiteError};

/// How many cases are played side by side: as many as there are cores.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

/// The profile for a program that speaks a dialect, where none is named: `PROGRAM-DIALECT`, then
/// `PROGRAM` where it is of that dialect. An agent that the suite does not know gets the files and the
/// environment of the dialect's own profile, and nothing that is said there of one agent alone: its
/// name, its version, what it lacks, its expected failures.
///
/// # Errors
/// Where there is no profile for the dialect, or it is wrong.
pub fn profile_for(suite: &Suite, dialect: &str, command: &[String]) -> Result<Profile, SuiteError> {
    let family = dialect.split('@').next().unwrap_or_default();
    let program = command.first().map(|program| Path::new(program).file_name().unwrap_or_default());
    let program = program.map(|name| name.to_string_lossy().into_owned());
    let known = suite.profiles();
    let is_of_dialect = |profile: &Profile| profile.dialect.split('@').next() == Some(family);
    for name in program.iter().flat_map(|program| [format!("{program}-{family}"), program.clone()]) {
        if known.contains(&name) {
            let profile = suite.profile(&name)?;
            if is_of_dialect(&profile) {
                return Ok(profile);
            }
        }
    }
    let mut profile = suite.profile(family)?;
    if let Some(program) = program {
        profile.name = format!("{family} (for an agent that the suite does not know)");
        profile.agent = program;
        profile.version = None;
        profile.claims = None;
        profile.expected_failures = None;
    }
    Ok(profile)
}
