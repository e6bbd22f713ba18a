//! Material from the recorded sessions of a dialect, from which the sessions of all seeds are made.

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::Spec;
use serde_json::{Map, Value};

use super::super::client_only_cases::{RecordedQuery, recorded_queries};
use super::super::plan::{PlannedAction, PlannedAnswer, plan};
use super::TortureError;
use crate::suite::Suite;

/// Recorded session that a client library can play.
#[derive(Debug)]
pub(super) struct BaseTranscript {
    /// Name of the session's case.
    pub(super) name: String,
    pub(super) actions: Vec<PlannedAction>,
}

/// A recorded question or notice of an agent.
#[derive(Debug)]
pub(super) struct Dialog {
    pub(super) line: FrameText,
    /// The client's answer to the question; `None` for a notice.
    pub(super) answer: Option<PlannedAnswer>,
}

/// Material from all recorded sessions of a dialect.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) spec: &'static Spec,
    pub(super) base_transcripts: Vec<BaseTranscript>,
    /// Commands without an effect on runs, with their recorded answers.
    pub(super) queries: Vec<RecordedQuery>,
    pub(super) dialogs: Vec<Dialog>,
    /// A recorded event, as a template for undeclared ones.
    pub(super) event: Option<FrameText>,
}

impl Pool {
    /// Collects the material of a dialect.
    ///
    /// # Errors
    /// If the suite is invalid, or has no recorded session of the dialect.
    pub(super) fn new(suite: &Suite, spec: &'static Spec) -> Result<Self, TortureError> {
        let mut pool = Self {
            spec,
            base_transcripts: Vec::new(),
            queries: Vec::new(),
            dialogs: Vec::new(),
            event: None,
        };
        for case in suite.cases(&spec.id())? {
            let Some(golden) = suite.golden(&case.dialect, &case.name)? else { continue };
            let Ok(moves) = plan(spec, &case, &golden) else { continue };
            for (call, answer) in recorded_queries(spec, &golden, &moves) {
                // Libraries send this command by themselves, and the suite could not distinguish
                // the two calls.
                let own = spec.run_end.barrier.is_some_and(|barrier| barrier.command == call.command);
                if !own && pool.queries.iter().all(|(known, _)| known.command != call.command) {
                    pool.queries.push((call, answer));
                }
            }
            pool.collect_dialogs(&moves);
            let events =
                golden.received().filter(|line| matches!(route(spec, line), Ok(RoutedFrame::Event { .. })));
            pool.event = pool.event.or_else(|| events.min_by_key(|line| line.len()).cloned());
            pool.base_transcripts.push(BaseTranscript { name: case.name, actions: moves });
        }
        if pool.base_transcripts.is_empty() {
            return Err(TortureError::NoSessions(spec.id()));
        }
        Ok(pool)
    }

    fn collect_dialogs(&mut self, actions: &[PlannedAction]) {
        for (at, step) in actions.iter().enumerate() {
            let PlannedAction::SendLine(line) = step else { continue };
            let Ok(RoutedFrame::Dialog { id, method, .. }) = route(self.spec, line) else { continue };
            let Some(row) = self.spec.dialog(&method) else { continue };
            let id: Value = agentese::wire::decode(id.as_str()).unwrap_or_default();
            let answer = actions[at..].iter().find_map(|step| match step {
                PlannedAction::Answer(answer) if answer.id == id => Some(answer.clone()),
                _ => None,
            });
            if row.withdraws.is_none() && row.answered == answer.is_some() {
                let line = without_expiry(self.spec, line, row.expires);
                self.dialogs.push(Dialog { line, answer });
            }
        }
    }
}

/// Returns the line of a question without its time limit.
fn without_expiry(spec: &Spec, line: &FrameText, expires: Option<&str>) -> FrameText {
    let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return line.clone() };
    let members: Option<&mut Map<String, Value>> = match spec.framing_is_flat() {
        true => frame.as_object_mut(),
        false => frame.get_mut("params").and_then(Value::as_object_mut),
    };
    if let (Some(members), Some(expires)) = (members, expires) {
        members.shift_remove(expires);
    }
    FrameText::from(frame.to_string())
}
