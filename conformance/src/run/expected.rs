//! Known failures of an agent. A file lists them with their reasons.

use std::collections::BTreeSet;
use std::path::Path;

use agentese::types::{
    CaseVerdict, CheckLevel, CheckOutcome, ExpectedFailure, ExpectedFailures, Profile, ReportCase,
    ReportCheck,
};

use serde_json::Value;

use crate::file::{self, FileError};
use crate::judge::can_fail;
use crate::suite::{Suite, SuiteError};

/// A file of expected failures.
#[derive(Debug, Clone)]
pub struct ExpectedFailuresFile {
    /// Name of the file, for messages about its problems.
    pub source: String,
    /// Content of the file.
    pub file: ExpectedFailures,
}

impl ExpectedFailuresFile {
    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, or does not fit the format.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let file = file::load(path, "expected-failures")?;
        Ok(Self { source: path.display().to_string(), file })
    }

    /// Reads the file that a profile names; returns `None` without such a name. A name that ends in `.json` is
    /// a path relative to the folder `place`.
    ///
    /// # Errors
    /// If the file does not exist or is invalid.
    pub fn of(profile: &Profile, suite: &Suite, place: &Path) -> Result<Option<Self>, SuiteError> {
        let Some(name) = &profile.expected_failures else { return Ok(None) };
        if name.ends_with(".json") {
            return Ok(Some(Self::load(&place.join(name))?));
        }
        match suite.expected(name)? {
            Some(file) => Ok(Some(Self { source: format!("expected/{name}.json"), file })),
            None => Err(SuiteError::Unknown {
                what: "file of expected failures",
                name: name.clone(),
                known: "known: names in the folder `expected` of the suite, and files that end in .json"
                    .to_owned(),
            }),
        }
    }
}

/// Marks known failures. Returns the problems of the file: failures that no longer happen, unknown cases or
/// checks, repeated lines, lines without a reason.
///
/// `known` are the names of all cases, played or not. Lines about checks below the level of the run are
/// ignored.
pub fn apply(
    expected: &ExpectedFailuresFile,
    cases: &mut [ReportCase],
    known: &[String],
    level: CheckLevel,
) -> Vec<String> {
    let source = &expected.source;
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for line in &expected.file.failures {
        let (name, check) = (&line.case, &line.check);
        if !seen.insert((name, check, &line.path, &line.row)) {
            problems.push(format!("{source}: duplicate line for `{check}` of {name}"));
            continue;
        }
        if line.reason.trim().is_empty() {
            problems.push(format!("{source}: `{check}` of {name} has no reason"));
        }
        match cases.iter_mut().find(|case| case.name == *name) {
            Some(case) => problems.extend(mark(case, line, source)),
            None if known.contains(name) => {}
            None => problems.push(format!("{source}: unknown case {name}")),
        }
    }
    for case in cases.iter_mut().filter(|case| case.verdict == CaseVerdict::Fail) {
        let is_known = |check: &ReportCheck| {
            check.outcome != CheckOutcome::Failed || !can_fail(check.level, level) || check.known.is_some()
        };
        case.expected = case.checks.iter().all(is_known).then_some(true);
    }
    problems
}

/// Removes indexes from a path: `messages[3].usage` becomes `messages[].usage`.
pub(crate) fn without_indexes(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut within = false;
    for character in path.chars() {
        within = (within || character == '[') && character != ']';
        if !within || character == '[' {
            out.push(character);
        }
    }
    out
}

/// Returns the name of the event, command or dialog of a failure. The name in the expected frame is
/// preferred to the name in the found frame. Returns `None` if both frames lack a name, as answers of
/// JSON-RPC do.
fn row(check: &ReportCheck) -> Option<String> {
    [&check.expected, &check.found].into_iter().flatten().find_map(|shown| named(&shown.line))
}

/// Returns the name of the event, command or dialog in a frame.
fn named(line: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(line).ok()?;
    let name = match (&frame["method"], &frame["type"]) {
        (Value::String(_), _) => frame.pointer("/params/type").or(frame.get("method")),
        (_, kind) if kind == "event" => frame.pointer("/event/type"),
        (_, kind) if kind == "response" => frame.get("command"),
        (_, kind) => Some(kind),
    };
    name?.as_str().map(str::to_owned)
}

/// Marks the failures of a case that match a line of the file. Returns a problem if there is no such
/// failure.
fn mark(case: &mut ReportCase, line: &ExpectedFailure, source: &str) -> Option<String> {
    let name = case.name.clone();
    let check = line.check.as_str();
    match case.verdict {
        // An inconclusive case neither confirms nor refutes the line.
        CaseVerdict::Inconclusive => return None,
        CaseVerdict::NotApplicable => {
            return Some(format!("{source}: {name} is not applicable; remove its lines"));
        }
        CaseVerdict::Pass | CaseVerdict::Lenient | CaseVerdict::Fail => {}
    }
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    let mut marked = false;
    for found in &mut case.checks {
        names.insert(found.check.clone());
        if found.check != check || found.outcome != CheckOutcome::Failed {
            continue;
        }
        let (path, of) = (found.path.as_deref().map(without_indexes), row(found));
        let is_row = line.row.is_none() || line.row == of;
        if is_row && path == line.path.as_deref().map(without_indexes) {
            found.known = Some(line.reason.clone());
            marked = true;
        } else {
            let path = path.unwrap_or_else(|| "the frame as a whole".to_owned());
            let of = of.filter(|_| line.row.is_some());
            paths.insert(of.map_or_else(|| path.clone(), |of| format!("{path} of `{of}`")));
        }
    }
    if marked {
        return None;
    }
    let mut at = line.path.as_ref().map(|path| format!(" at {path}")).unwrap_or_default();
    at.extend(line.row.as_ref().map(|row| format!(" of `{row}`")));
    Some(if !names.contains(check) {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        format!("{source}: unknown check `{check}` of {name}; known: {names}")
    } else if paths.is_empty() {
        format!("{source}: `{check}`{at} of {name} no longer fails; remove its line")
    } else {
        let paths = paths.into_iter().collect::<Vec<_>>().join(", ");
        format!("{source}: `{check}`{at} of {name} does not fail there; it fails at {paths}")
    })
}
