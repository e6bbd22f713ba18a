//! Waits of a scenario. The client sends its next line only after the frame that it waits for.

use agentese::types::{Direction, Scenario, ScenarioStep, TranscriptRecord, WaitFrom, WaitStep};
use agentese_conformance::matching::Pattern;
use agentese_conformance::transcript::whole_line;
use serde_json::Value;

/// A step of a scenario: a wait, or an action of the client.
#[derive(Debug, Clone)]
enum ClientStep {
    Wait(Box<WaitStep>, Pattern),
    /// The client sends this number of lines.
    Sends(usize),
    /// The client closes its end of the connection.
    Closes,
    /// Skips the frames so far: later waits examine only new frames.
    Skips,
}

/// The waits of a scenario, if a transcript can show that they are met.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits(Vec<ClientStep>);

impl Waits {
    /// Collects the waits of a case. The list is empty if the unchanged transcript does not prove that
    /// the waits are met: if patterns contain variables, or if the number of sent lines is unknown.
    pub(super) fn of(case: &Scenario, records: &[TranscriptRecord]) -> Self {
        let steps = case.steps.iter().filter_map(|step| match step {
            ScenarioStep::Send(_) => Some(Some(ClientStep::Sends(1))),
            ScenarioStep::Raw(raw) => {
                let text = format!("{}{}", raw.raw, raw.eol.as_deref().unwrap_or("\n"));
                let whole = text.ends_with('\n');
                Some(whole.then(|| ClientStep::Sends(text.matches('\n').count())))
            }
            ScenarioStep::Wait(wait) => {
                let pattern = Pattern::new(&wait.wait).ok().filter(|_| !wait.wait.to_string().contains("${"));
                Some(pattern.map(|pattern| ClientStep::Wait(Box::new(wait.clone()), pattern)))
            }
            ScenarioStep::Bytes(_) | ScenarioStep::Ready(_) => Some(None),
            ScenarioStep::Close(_) => Some(Some(ClientStep::Closes)),
            ScenarioStep::Quiet(quiet) if quiet.skip == Some(true) => Some(Some(ClientStep::Skips)),
            _ => None,
        });
        let waits = Self(steps.collect::<Option<_>>().unwrap_or_default());
        if waits.unmet_wait(records).is_some() { Self::default() } else { waits }
    }

    /// Returns the first wait that the frames before the client's next action do not meet.
    pub(super) fn unmet_wait(&self, records: &[TranscriptRecord]) -> Option<String> {
        // Collects the agent's frames with their places, and the places of the client's actions.
        let mut frames: Vec<(usize, Option<Value>)> = Vec::new();
        let mut sent = Vec::new();
        let mut closed = None;
        for (place, record) in records.iter().enumerate() {
            match record {
                TranscriptRecord::Line(line) if line.dir == Direction::S2c => {
                    let text = whole_line(line).unwrap_or_default();
                    frames.push((place, serde_json::from_str(&text).ok()));
                }
                TranscriptRecord::Line(_) => sent.push(place),
                TranscriptRecord::Control(control) if control.event == "stdin_closed" => {
                    closed = closed.or(Some(place))
                }
                _ => {}
            }
        }
        let (mut next, mut cursor) = (0, 0);
        for (at, step) in self.0.iter().enumerate() {
            match step {
                ClientStep::Sends(lines) => next += lines,
                ClientStep::Closes => closed = None,
                ClientStep::Skips => {
                    cursor = frames.partition_point(|(place, _)| Some(place) < sent.get(next))
                }
                ClientStep::Wait(wait, pattern) => {
                    let closes = matches!(
                        self.0[at + 1..].iter().find(|step| !matches!(step, ClientStep::Wait(..))),
                        Some(ClientStep::Closes)
                    );
                    let until = sent.get(next).copied().or(closed.filter(|_| closes)).unwrap_or(usize::MAX);
                    let from_start = wait.from == Some(WaitFrom::Start);
                    let mut position = if from_start { 0 } else { cursor };
                    for _ in 0..wait.count.unwrap_or(1) {
                        let mut seen = frames
                            .iter()
                            .enumerate()
                            .skip(position)
                            .take_while(|(_, (place, _))| *place < until);
                        let found = seen
                            .find(|(_, (_, frame))| frame.as_ref().is_some_and(|frame| pattern.fits(frame)));
                        match found {
                            Some((at, _)) => position = at + 1,
                            None if wait.optional == Some(true) => break,
                            None => return Some(format!("no frame like {}", wait.wait)),
                        }
                    }
                    if !from_start && wait.peek != Some(true) {
                        cursor = position;
                    }
                }
            }
        }
        None
    }
}
