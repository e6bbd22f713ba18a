//! Which dialect an agent speaks, and in which revision, from what it says.
//!
//! Everything that is looked at comes from the declared dialects: how frames are wrapped, which events
//! and commands there are, what answers have to hold, how unknown commands and unreadable lines are
//! answered. Each observation speaks for or against each dialect; what is said against a dialect by the
//! declaration weighs more than what is said for it, for dialects of a family have much in common.

mod evidence;
mod live;
mod stranger;

use agentese::dynamic::REVISIONS;
use agentese::framing::FrameText;
use agentese::spec::Spec;

use crate::transcript::{Record, Transcript};
use evidence::Evidence;

pub use live::{DetectError, detect_case, detect_live};
pub use stranger::Stranger;

/// How many lines of an agent are looked at. More would only say the same again.
const LINES: usize = 300;

/// A dialect that an agent may speak.
#[derive(Debug, Clone)]
pub struct Guess {
    /// The dialect, in the revision that fits best.
    pub spec: &'static Spec,
    /// How likely it is among the declared ones, from 0 to 1; all guesses together make 1.
    pub confidence: f64,
    /// What speaks for and against it, the weightiest first.
    pub reasons: Vec<Reason>,
    /// Whether something came that belongs to the dialect: an event of its own, an answer with what it has to
    /// hold, a failure in its words. Frames alone say little: others speak JSON-RPC too.
    pub is_shown: bool,
}

/// An observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// How much it speaks for the dialect; negative: against it.
    pub weight: f64,
    /// What was seen.
    pub text: String,
}

/// The dialects in order, the likeliest first.
///
/// # Errors
/// Where what was said is no agent's: nothing, no JSON, or what had been sent.
pub fn detect(transcript: &Transcript) -> Result<Vec<Guess>, Stranger> {
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

/// Weighs lines: those that went to the agent (true) and those that came from it.
fn weigh(lines: &[(bool, &FrameText)]) -> Result<Vec<Guess>, Stranger> {
    stranger::look(lines)?;
    let mut guesses: Vec<Guess> = REVISIONS
        .iter()
        .enumerate()
        .filter_map(|(place, revisions)| {
            let all: Vec<_> = revisions.iter().map(|spec| guess(lines, spec)).collect();
            // What tells revisions apart decides before what merely fits: a younger one declares more. The first one of
            // those that fit equally well is meant where nothing tells revisions apart.
            let fit = |(guess, signs): &(Guess, f64)| (*signs, guess.confidence);
            let best = (0..all.len())
                .reduce(|best, next| if fit(&all[next]) > fit(&all[best]) { next } else { best })?;
            // What tells revisions apart says nothing about the dialect; and of a younger one than is spoken, what it
            // declares besides.
            let score =
                all[..=best].iter().map(|(guess, _)| guess.confidence).fold(f64::NEG_INFINITY, f64::max);
            let (guess, _) = all.into_iter().nth(best)?;
            // Where nothing tells a dialect from the one that it extends, the one that is extended is meant.
            Some(Guess { confidence: score - 0.1 * place as f64, ..guess })
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

/// What lines say of one revision; its score stands in place of the confidence. With the weight of what tells it from
/// the other revisions, which the score does not have.
fn guess(lines: &[(bool, &FrameText)], spec: &'static Spec) -> (Guess, f64) {
    let mut evidence = Evidence::new(spec);
    for (is_sent, line) in lines {
        if *is_sent {
            evidence.sent(line);
        } else {
            evidence.received(line);
        }
    }
    let is_shown = evidence.is_shown();
    let (mut reasons, signs) = evidence.reasons();
    let weight = |reasons: &[Reason]| reasons.iter().map(|reason| reason.weight).sum::<f64>();
    let (score, of_signs) = (weight(&reasons), weight(&signs));
    reasons.extend(signs);
    reasons.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
    (Guess { spec, confidence: score, reasons, is_shown }, of_signs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::recorded;

    /// The likeliest revision of pi of an agent that was asked these things.
    fn said(lines: &[(bool, &str)]) -> String {
        let lines: Vec<_> = lines.iter().map(|(is_sent, line)| (*is_sent, FrameText::from(*line))).collect();
        let lines: Vec<_> = lines.iter().map(|(is_sent, line)| (*is_sent, line)).collect();
        let guesses = weigh(&lines).unwrap();
        guesses.iter().find(|guess| guess.spec.name == "pi").unwrap().spec.id()
    }

    #[test]
    fn what_an_idle_agent_knows_tells_its_revision() {
        let tree = (true, r#"{"id":"1","type":"get_tree"}"#);
        let known = r#"{"id":"1","type":"response","command":"get_tree","success":true,"data":{"tree":[],"leafId":null}}"#;
        assert_eq!(said(&[tree, (false, known)]), "pi@1.5");
        let unknown =
            r#"{"type":"response","command":"get_tree","success":false,"error":"Unknown command: get_tree"}"#;
        assert_eq!(said(&[tree, (false, unknown)]), "pi@0.55");
    }

    #[test]
    fn every_recording_is_of_its_dialect() {
        for dialect in ["pi", "omp", "pisces", "operator", "opal"] {
            let mut wrong = Vec::new();
            let recordings = recorded(dialect).unwrap();
            let count = recordings.len();
            for (name, transcript) in recordings {
                let guesses = detect(&transcript).unwrap_or_default();
                // Omp and pisces differ in what a session may not show.
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
