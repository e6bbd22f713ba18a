//! Baselines: outputs of an agent that pass a case. A trial applies one change to such an output, and the
//! suite judges the result.

use agentese::dynamic;
use agentese::types::{
    CheckLevel, Direction, Profile, ProfileClaims, Scenario, TranscriptControl, TranscriptLine,
    TranscriptRecord,
};
use agentese::wire::Maybe;
use agentese_conformance::judge::{can_fail, judge};
use agentese_conformance::player::PlayResult;
use agentese_conformance::recording::{NOT_UTF8, Recording};
use agentese_conformance::suite::{Suite, SuiteError};
use agentese_conformance::transcript::{Record, whole_line};
use agentese_conformance::verdict::{Finding, Outcome};

use crate::change::{AgentEnd, ChangedOutput, Effect, apply};
use crate::stream::Stream;
use crate::waits::Waits;
use crate::{Application, Mutator, NeutralChange};

/// Signal with which the player ends an agent that does not end by itself.
const TERM: i64 = 15;

/// An agent's output in a case, which passes as long as it is unchanged.
#[derive(Debug, Clone)]
pub struct Baseline {
    /// The case that the agent played.
    pub case: Scenario,
    profile: Profile,
    played: PlayResult,
    /// The lines of the client and of the agent.
    pub stream: Stream,
    /// Index of the transcript record for each line of the agent.
    records: Vec<usize>,
    waits: Waits,
}

/// Reason why a case cannot be used for trials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// The suite cannot load the transcript, or cannot judge the case.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The dialect is unknown.
    #[error(transparent)]
    Dialect(#[from] agentese::Error),
    /// There is no transcript.
    #[error("there is no transcript of it")]
    NoTranscript,
    /// The case has no check that can fail.
    #[error("no check of it counts")]
    OnlyInfo,
    /// The case has its own allowances.
    #[error("it has allowances of its own")]
    Allows,
    /// The unchanged output fails.
    #[error("it fails as it is: {0}")]
    Fails(String),
}

impl Baseline {
    /// Creates the baseline from a golden transcript, as the output of the recorded agent.
    ///
    /// # Errors
    /// If there is no golden transcript, or if no check of the case can fail.
    pub fn golden(suite: &Suite, case: &Scenario, profile: &Profile) -> Result<Self, BaselineError> {
        let golden = suite.golden(&case.dialect, &case.name)?.ok_or(BaselineError::NoTranscript)?;
        let mut profile = profile.clone();
        profile.agent.clone_from(&golden.header.agent);
        // Transcripts do not contain requests to the model, so checks of requests are disabled.
        profile.claims.get_or_insert_with(ProfileClaims::new).embedded_model = Some(true);
        let records = golden.records.iter().map(written).collect();
        let recording = Recording { header: golden.header, records };
        let played = PlayResult {
            recording,
            requests: Vec::new(),
            broke_off: None,
            not_applicable: None,
            wait_timed_out: false,
            unsent: false,
            patience: 1.0,
            directory: None,
        };
        Self::played(suite, case, &profile, played)
    }

    /// Creates the baseline from a run of the case.
    ///
    /// # Errors
    /// If no check of the case can fail.
    pub fn played(
        suite: &Suite,
        case: &Scenario,
        profile: &Profile,
        played: PlayResult,
    ) -> Result<Self, BaselineError> {
        if case.level == Some(CheckLevel::Info) {
            return Err(BaselineError::OnlyInfo);
        }
        if case.allow.as_ref().is_some_and(|allowances| !allowances.is_empty()) {
            return Err(BaselineError::Allows);
        }
        let mut stream = Stream::new(dynamic::spec(&case.dialect)?);
        let mut records = Vec::new();
        for (at, record) in played.recording.records.iter().enumerate() {
            let TranscriptRecord::Line(line) = record else { continue };
            let text = whole_line(line).unwrap_or_default();
            match line.dir {
                Direction::C2s => stream.add_client_line(&text),
                Direction::S2c => {
                    stream.add_agent_line(&text);
                    records.push(at);
                }
            }
        }
        stream.complete = true;
        let mut base = Self {
            case: case.clone(),
            profile: profile.clone(),
            played,
            stream,
            records,
            waits: Waits::default(),
        };
        base.waits = Waits::of(case, &base.played.recording.records);
        match failed_checks(suite, case, profile, &base.played)?.into_iter().next() {
            Some(fault) => Err(BaselineError::Fails(fault)),
            None => Ok(base),
        }
    }

    /// Judges the output with a defect. Returns the failed checks; the list is empty if the suite missed the
    /// defect.
    ///
    /// # Errors
    /// If the suite cannot judge.
    pub fn defect(&self, suite: &Suite, application: &Application) -> Result<Vec<String>, SuiteError> {
        let mut played = self.played.clone();
        played.recording.records = self.changed(application);
        played.broke_off = self.waits.unmet_wait(&played.recording.records);
        failed_checks(suite, &self.case, &self.profile, &played)
    }

    /// Judges the output with a neutral change. Returns the failed checks like [`Baseline::defect`], and
    /// `None` if the change has no effect here.
    ///
    /// # Errors
    /// If the suite cannot judge.
    pub fn neutral(
        &self,
        suite: &Suite,
        neutral: &NeutralChange,
        seed: u64,
    ) -> Result<Option<Vec<String>>, SuiteError> {
        let case = serde_json::to_string(&self.case).unwrap_or_default();
        let Some(records) = neutral.change(&self.stream, &self.played.recording.records, &case, seed) else {
            return Ok(None);
        };
        let mut played = self.played.clone();
        played.recording.records = records;
        played.broke_off = self.waits.unmet_wait(&played.recording.records);
        if neutral.is_of_pieces() && played.broke_off.is_some() {
            // The scenario itself waits for a piece with the recorded boundaries, so these must not change.
            return Ok(None);
        }
        failed_checks(suite, &self.case, &self.profile, &played).map(Some)
    }

    /// Returns the applications of a mutator that change the output or the end of the agent.
    pub fn applications(&self, mutator: &Mutator) -> Vec<Application> {
        let mut found = mutator.applications(&self.stream);
        // A change of the agent's end is kept only if the transcript shows it. It does not if the player
        // ended the agent.
        found.retain(|application| {
            // The order of answers does not matter, unless the client waits for an answer before its next
            // step.
            if application.effect == Effect::Last && self.stream.lines[application.at].is_answer() {
                return self.waits.unmet_wait(&self.changed(application)).is_some();
            }
            let ends = matches!(application.effect, Effect::Code(_) | Effect::Stays);
            !ends || self.changed(application) != self.played.recording.records
        });
        found
    }

    /// Returns the records of the transcript with a defect.
    fn changed(&self, application: &Application) -> Vec<TranscriptRecord> {
        let lines: Vec<&str> = self.stream.lines.iter().map(|said| said.text.as_str()).collect();
        self.rebuilt_records(&apply(&lines, application))
    }

    /// Returns `true` if the player had to end the agent.
    fn was_ended(&self) -> bool {
        self.played.recording.records.iter().any(|record| {
            matches!(record, TranscriptRecord::Control(control) if control.event.starts_with("signal "))
        })
    }

    /// Returns the records that the player would have read from the changed output.
    fn rebuilt_records(&self, changed: &ChangedOutput) -> Vec<TranscriptRecord> {
        // If the player had to end the agent, its exit code is meaningless.
        let forced = self.was_ended();
        let mut out = Vec::new();
        let mut pending = Vec::new();
        let mut said = changed.lines.iter().peekable();
        // A line that is moved back also delays the lines after it.
        let mut latest = 0;
        let mut at = 0;
        for (place, record) in self.played.recording.records.iter().enumerate() {
            match record {
                TranscriptRecord::Line(line) if line.dir == Direction::S2c => {
                    while let Some((_, bytes)) = said.next_if(|(origin, _)| latest.max(*origin) <= at) {
                        pending.extend_from_slice(bytes);
                    }
                    latest = at;
                    take_lines(&mut pending, line, &mut out);
                    debug_assert_eq!(self.records.get(at), Some(&place));
                    at += 1;
                }
                TranscriptRecord::Control(control) if control.code != Maybe::Absent => {
                    take_rest(&mut pending, &mut out);
                    end(control, changed.end.filter(|_| !forced), &mut out);
                }
                record => out.push(record.clone()),
            }
        }
        out
    }
}

/// Converts a recorded line or event to a record of a transcript file.
fn written(record: &Record) -> TranscriptRecord {
    let line = |dir, text: &str| {
        let mut line = TranscriptLine::new(dir);
        line.line = Some(text.to_owned());
        TranscriptRecord::Line(line)
    };
    match record {
        Record::Sent(text) => line(Direction::C2s, text.as_str()),
        Record::Received(text) => line(Direction::S2c, text.as_str()),
        Record::Control(control) => TranscriptRecord::Control(control.clone()),
    }
}

/// Moves the complete lines from `pending` to `out`.
fn take_lines(pending: &mut Vec<u8>, like: &TranscriptLine, out: &mut Vec<TranscriptRecord>) {
    while let Some(end) = memchr::memchr(b'\n', pending) {
        note(&pending[..end], None, like, out);
        pending.drain(..=end);
    }
}

/// Moves output without a line feed at its end from `pending` to `out`.
fn take_rest(pending: &mut Vec<u8>, out: &mut Vec<TranscriptRecord>) {
    if !pending.is_empty() {
        note(pending, Some(""), &TranscriptLine::new(Direction::S2c), out);
        pending.clear();
    }
}

fn note(bytes: &[u8], eol: Option<&str>, like: &TranscriptLine, out: &mut Vec<TranscriptRecord>) {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        out.push(TranscriptRecord::Control(TranscriptControl::new(NOT_UTF8)));
    }
    let mut line = TranscriptLine::new(Direction::S2c);
    line.t.clone_from(&like.t);
    line.line = Some(text.into_owned());
    line.eol = eol.map_or(Maybe::Absent, |eol| Maybe::Value(eol.to_owned()));
    out.push(TranscriptRecord::Line(line));
}

/// Records the end of the agent. If given, `end` replaces the recorded end.
fn end(control: &TranscriptControl, end: Option<AgentEnd>, out: &mut Vec<TranscriptRecord>) {
    let mut control = control.clone();
    let is_last = control.event == "exit";
    match end {
        None => {}
        Some(AgentEnd::Code(code)) => control.code = Maybe::Value(code.into()),
        Some(AgentEnd::Killed) if is_last => {
            out.push(TranscriptRecord::Control(TranscriptControl::new("signal SIGTERM")));
            control.code = Maybe::Value(-TERM);
        }
        Some(AgentEnd::Killed) => {
            control = TranscriptControl::new("still_running");
        }
    }
    out.push(TranscriptRecord::Control(control));
}

/// Returns the failed checks of the levels *must* and *should*, with their messages.
///
/// # Errors
/// If the suite cannot judge.
pub fn failed_checks(
    suite: &Suite,
    case: &Scenario,
    profile: &Profile,
    played: &PlayResult,
) -> Result<Vec<String>, SuiteError> {
    let judged = judge(case, profile, played, suite)?;
    let counted = judged.findings.iter().filter(|finding| can_fail(finding.level, CheckLevel::Should));
    Ok(counted.filter_map(describe_finding).collect())
}

/// Describes a failed check. Returns `None` if the check did not fail.
fn describe_finding(finding: &Finding) -> Option<String> {
    let Outcome::Failed(mismatch) = &finding.outcome else { return None };
    let found = mismatch.found.as_ref().map(|shown| shown.line.as_str()).unwrap_or_default();
    Some(format!("{}: {} {} {found}", finding.check, mismatch.message, mismatch.path))
}
