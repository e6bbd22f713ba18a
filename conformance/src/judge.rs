//! Judgement of an agent's run of a case.
//!
//! Each check has a name that does not change between versions, a level, and an outcome. The checks here look
//! at the run as a whole; [`matching`](crate::matching) compares its frames with the golden transcript.

mod exchange;
mod exit;
mod frames;
mod incomplete;
mod latency;
mod lines;
mod not_played;
mod scenario;

use agentese::types::{CheckLevel, ModelRequest, Profile, Scenario};

use crate::Transcript;
use crate::matching::checks::EXIT;
use crate::matching::{Choices, Comparison, Rules, compare, excerpts, expectations};
use crate::player::{PlayResult, check_requests};
use crate::recording::Recording;
use crate::suite::{Suite, SuiteError};
use crate::verdict::{Finding, Mismatch, Outcome, Verdict};

pub use not_played::{could_not_play, not_applicable_case};

/// Judgement of a case.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The judged case.
    pub case: Scenario,
    /// Findings of the checks, in the order of the checks.
    pub findings: Vec<Finding>,
    /// Number of the agent's frames that were compared with the golden transcript.
    pub frames: usize,
    /// Number of compared frames without a difference that can make the case fail.
    pub agreed: usize,
    /// Recorded lines; `None` if the case was not played.
    pub recording: Option<Recording>,
    /// Requests to the model.
    pub requests: Vec<ModelRequest>,
    /// Verdict and reason of a case without checks: it does not apply to the agent, or could not be played.
    pub early_verdict: Option<(Verdict, String)>,
}

impl Judgement {
    /// Returns the verdict that follows from the checks of the level `least` and higher levels. Checks of the
    /// level *info* never make a case fail.
    pub fn verdict(&self, least: CheckLevel) -> Verdict {
        if let Some((verdict, _)) = &self.early_verdict {
            return *verdict;
        }
        let counted = || self.findings.iter().filter(|finding| can_fail(finding.level, least));
        if counted().any(|finding| matches!(finding.outcome, Outcome::Failed(_))) {
            Verdict::Fail
        } else if counted().any(|finding| matches!(finding.outcome, Outcome::Unclear(_))) {
            Verdict::Inconclusive
        } else if counted().any(|finding| matches!(finding.outcome, Outcome::Allowed { .. })) {
            Verdict::Lenient
        } else {
            Verdict::Pass
        }
    }
}

/// Returns `true` if a check of this level can make a case fail. Checks below the level `least` cannot.
pub fn can_fail(level: CheckLevel, least: CheckLevel) -> bool {
    level != CheckLevel::Info && is_visible(level, least)
}

/// Returns `true` if a check of this level is displayed. `least` is the lowest displayed level.
pub fn is_visible(level: CheckLevel, least: CheckLevel) -> bool {
    let weight = |level| CheckLevel::ALL.iter().position(|known| *known == level);
    weight(level) <= weight(least)
}

/// Judges the run of a case.
///
/// # Errors
/// If the golden transcript cannot be read.
pub fn judge(
    case: &Scenario,
    profile: &Profile,
    played: &PlayResult,
    suite: &Suite,
) -> Result<Judgement, SuiteError> {
    let observed = played.recording.transcript()?;
    let golden = suite.golden(&case.dialect, &case.name)?;
    let level = case.level.unwrap_or(CheckLevel::Should);
    let mut findings = vec![scenario::scenario(level, played, &observed)];
    let (mut frames, mut agreed, mut ended) = (0, 0, false);
    match (&golden, Rules::of(&case.dialect)) {
        (Some(golden), Some(rules)) => {
            let alternatives: Vec<_> = suite.alternative(&case.dialect, &case.name)?.into_iter().collect();
            let same_agent = golden.header.agent == profile.agent;
            let family = case.dialect.split('@').next().unwrap_or_default();
            let recorded = suite.profile(family).ok().and_then(|profile| profile.choices);
            let choices = Choices::new(recorded.as_ref(), profile.choices.as_ref());
            let comparison = Comparison {
                golden,
                alternatives: &alternatives,
                observed: &observed,
                case,
                same_agent,
                choices: &choices,
            };
            let compared = match played.unsent {
                true => incomplete::compare(rules, &comparison),
                false => compare(rules, &comparison),
            };
            findings
                .extend(compared.findings.into_iter().filter(|finding| !repeats_scenario(finding, played)));
            // The end of the process is reported by one check only.
            ended = findings.iter().any(|finding| finding.check == EXIT && finding.outcome != Outcome::Held);
            (frames, agreed) = (compared.frames, compared.agreed);
        }
        _ => findings.push(lines::noise(level, &observed)),
    }
    let end = exit::exit(case, golden.as_ref(), &observed);
    if !ended || end.outcome == exit::crash(&observed) {
        findings.push(end);
    }
    let expected = expectations::check(case, &observed).into_iter();
    findings.extend(
        expected
            .map(|finding| if played.unsent { incomplete::excuse_missing_frames(finding) } else { finding }),
    );
    findings.push(frames::frames(&case.dialect, golden.as_ref(), &observed));
    findings.extend(exchange::exchange(&case.dialect, &observed));
    findings.push(lines::lines(&played.recording));
    findings.push(lines::leaks(&observed));
    findings.extend(latency::latency(&case.dialect, played.patience, &played.recording));
    findings.extend(requests(case, profile, played));
    if level == CheckLevel::Info {
        findings.iter_mut().for_each(|finding| finding.level = CheckLevel::Info);
    }
    Ok(Judgement {
        case: case.clone(),
        findings,
        frames,
        agreed,
        recording: Some(played.recording.clone()),
        requests: played.requests.clone(),
        early_verdict: None,
    })
}

/// Returns `true` if the finding repeats the check `scenario`, which already reports why the scenario broke
/// off.
fn repeats_scenario(finding: &Finding, played: &PlayResult) -> bool {
    match (&finding.outcome, &played.broke_off) {
        (Outcome::Failed(mismatch), Some(reason)) => mismatch.message.ends_with(reason.as_str()),
        _ => false,
    }
}

/// Returns the findings about the model's requests.
fn requests(case: &Scenario, profile: &Profile, played: &PlayResult) -> impl Iterator<Item = Finding> {
    let findings = check_requests(case, profile, &played.requests);
    findings.into_iter().map(|finding| {
        let outcome = match finding.failure {
            None => Outcome::Held,
            Some(_) if finding.missing && played.unsent => incomplete::not_checked(),
            Some(failure) => Outcome::Failed(Mismatch {
                message: format!("{}: {failure}", finding.description),
                path: finding.path,
                ..Mismatch::default()
            }),
        };
        Finding { check: "requests".to_owned(), level: finding.level, outcome }
    })
}

/// Creates the outcome of a failed check without a frame.
fn failed(message: impl Into<String>) -> Outcome {
    Outcome::Failed(Mismatch { message: message.into(), ..Mismatch::default() })
}

/// Creates the outcome of a check that failed because of the line at a record.
fn wrong_line(transcript: &Transcript, at: usize, message: String) -> Outcome {
    Outcome::Failed(Mismatch {
        message,
        found: excerpts::line(transcript, at),
        before: excerpts::before(transcript, at),
        ..Mismatch::default()
    })
}
