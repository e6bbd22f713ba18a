//! Detection of an agent's dialect and revision from the agent's output.
//!
//! The evidence follows from the declared dialects: the framing, the known events and commands, the required
//! members of answers, the answers to unknown commands and unreadable lines. Each observation is evidence for
//! or against each dialect. Evidence against a dialect weighs more than evidence for it, because dialects of
//! a family have much in common.

mod evidence;
mod live;
mod not_an_agent;

use agentese::dynamic::REVISIONS;
use agentese::framing::FrameText;
use agentese::spec::Spec;

use crate::transcript::{Record, Transcript};
use evidence::Evidence;

pub use live::{DetectError, detect_case, detect_live};
pub use not_an_agent::NotAnAgentError;

/// Maximum number of lines to examine. Further lines mostly repeat the evidence.
const LINES: usize = 300;

/// A dialect that the agent may speak.
#[derive(Debug, Clone)]
pub struct DialectGuess {
    /// The dialect, in the revision that fits best.
    pub spec: &'static Spec,
    /// Probability among the declared dialects, from 0 to 1; the sum over all guesses is 1.
    pub confidence: f64,
    /// Evidence for and against the dialect, the weightiest first.
    pub reasons: Vec<Reason>,
    /// `true` if at least one frame can only come from this dialect: an event of its own, an answer with its
    /// required members, or a failure with its text.
    ///
    /// Framing alone does not suffice, because other programs speak JSON-RPC too.
    pub is_confirmed: bool,
}

/// Observation that is evidence for or against a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// Weight of the evidence for the dialect; negative: against it.
    pub weight: f64,
    /// Description of the observation.
    pub text: String,
}

/// Returns the dialects, the most probable first.
///
/// # Errors
/// If the output does not come from an agent: it is empty, it contains no JSON, or it repeats the input.
pub fn detect(transcript: &Transcript) -> Result<Vec<DialectGuess>, NotAnAgentError> {
    let mut lines = Vec::new();
    let mut left = LINES;
    for record in &transcript.records {
        match record {
            Record::Sent(line) => lines.push((true, line)),
            Record::Received(line) if left > 0 => {
                left -= 1;
                lines.push((false, line));
            }
            _ => {}
        }
    }
    weigh(&lines)
}

/// Computes guesses from the lines of a session. `true` marks a line to the agent.
fn weigh(lines: &[(bool, &FrameText)]) -> Result<Vec<DialectGuess>, NotAnAgentError> {
    not_an_agent::check_agent(lines)?;
    let mut guesses: Vec<DialectGuess> = REVISIONS
        .iter()
        .enumerate()
        .filter_map(|(place, revisions)| {
            let all: Vec<_> = revisions.iter().map(|spec| guess(lines, spec)).collect();
            // A fingerprint of a revision is decisive over a better fit. A later revision often fits better
            // only because it declares more. Without fingerprints, the first revision with the best fit is
            // chosen.
            let fit = |(guess, signs): &(DialectGuess, f64)| (*signs, guess.confidence);
            let best = (0..all.len())
                .reduce(|best, next| if fit(&all[next]) > fit(&all[best]) { next } else { best })?;
            // The score excludes fingerprints of revisions, because they are no evidence for the dialect. It
            // also excludes rows that only revisions after the best one declare.
            let score =
                all[..=best].iter().map(|(guess, _)| guess.confidence).fold(f64::NEG_INFINITY, f64::max);
            let (guess, _) = all.into_iter().nth(best)?;
            // If the evidence is equal, the base dialect is preferred over dialects that extend it.
            Some(DialectGuess { confidence: score - 0.1 * place as f64, ..guess })
        })
        .collect();
    let best = guesses.iter().map(|guess| guess.confidence).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = guesses.iter().map(|guess| (guess.confidence - best).exp()).sum();
    for guess in &mut guesses {
        guess.confidence = (guess.confidence - best).exp() / total;
    }
    guesses.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    Ok(guesses)
}

/// Computes the guess for one revision, with a score in place of the confidence. The second value is the
/// weight of the revision's fingerprints, which the score does not include.
fn guess(lines: &[(bool, &FrameText)], spec: &'static Spec) -> (DialectGuess, f64) {
    let mut evidence = Evidence::new(spec);
    for (is_sent, line) in lines {
        if *is_sent {
            evidence.sent(line);
        } else {
            evidence.received(line);
        }
    }
    let is_shown = evidence.is_confirmed();
    let (mut reasons, signs) = evidence.reasons();
    let weight = |reasons: &[Reason]| reasons.iter().map(|reason| reason.weight).sum::<f64>();
    let (score, of_signs) = (weight(&reasons), weight(&signs));
    reasons.extend(signs);
    reasons.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    (DialectGuess { spec, confidence: score, reasons, is_confirmed: is_shown }, of_signs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::recorded;

    /// Returns the most probable revision of pi for these lines.
    fn best_revision(lines: &[(bool, &str)]) -> String {
        let lines: Vec<_> = lines.iter().map(|(is_sent, line)| (*is_sent, FrameText::from(*line))).collect();
        let lines: Vec<_> = lines.iter().map(|(is_sent, line)| (*is_sent, line)).collect();
        let guesses = weigh(&lines).unwrap();
        guesses.iter().find(|guess| guess.spec.name == "pi").unwrap().spec.id()
    }

    #[test]
    fn known_commands_of_an_idle_agent_reveal_its_revision() {
        let tree = (true, r#"{"id":"1","type":"get_tree"}"#);
        let known = r#"{"id":"1","type":"response","command":"get_tree","success":true,"data":{"tree":[],"leafId":null}}"#;
        assert_eq!(best_revision(&[tree, (false, known)]), "pi@1.5");
        let unknown =
            r#"{"type":"response","command":"get_tree","success":false,"error":"Unknown command: get_tree"}"#;
        assert_eq!(best_revision(&[tree, (false, unknown)]), "pi@0.55");
    }

    #[test]
    fn every_recording_is_of_its_dialect() {
        for dialect in ["pi", "omp", "pisces", "operator", "opal"] {
            let mut wrong = Vec::new();
            let recordings = recorded(dialect).unwrap();
            let count = recordings.len();
            for (name, transcript) in recordings {
                let guesses = detect(&transcript).unwrap_or_default();
                // omp and pisces differ only in details, which a session may not contain.
                let is_right = guesses.first().is_none_or(|guess| {
                    guess.spec.name == dialect || (dialect == "pisces" && guess.spec.name == "omp")
                });
                if !is_right {
                    wrong.push((
                        name,
                        guesses[0].spec.name,
                        guesses[0].reasons.clone(),
                        guesses[1].reasons.clone(),
                    ));
                }
            }
            assert!(wrong.is_empty(), "{dialect}: {} of {count}: {wrong:#?}", wrong.len());
        }
    }
}
