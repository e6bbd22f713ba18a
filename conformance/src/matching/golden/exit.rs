//! Comparison of the ends of two processes.

use agentese::wire::Maybe;

use super::rules::Rules;
use super::tables::Form;
use super::transcript_streams::TranscriptStreams;
use crate::matching::difference::{Difference, Weight};

/// The end of an agent in a transcript.
struct RecordedExit {
    /// Exit code, or the negative number of the signal. The outer option is `None` if the transcript does not
    /// contain the end.
    code: Option<Option<i64>>,
    /// Signals that were sent to the agent.
    signals: Vec<String>,
    /// Errors of the player.
    errors: Vec<String>,
}

/// Exit codes with which a process may end after a signal.
const CLEAN: [i64; 3] = [0, 130, 143];

/// Compares the ends of two transcripts.
pub(super) fn compare(
    rules: &Rules,
    golden: &TranscriptStreams<'_>,
    observed: &TranscriptStreams<'_>,
) -> Vec<Difference> {
    let (recorded, actual) = (recorded_exit(golden), recorded_exit(observed));
    let mut found = Vec::new();
    if recorded.errors.is_empty() {
        let errors = actual.errors.iter().map(|text| format!("the case was not played to its end: {text}"));
        found.extend(errors.map(|message| Difference::new(Weight::Case, "", message)));
    }
    if let Some(signal) = actual.signals.iter().find(|signal| !recorded.signals.contains(signal)) {
        let message = format!("the agent did not end by itself; {signal} was sent");
        found.push(Difference::new(Weight::Case, "", message));
    }
    let (Some(expected), Some(code)) = (recorded.code, actual.code) else {
        if recorded.code.is_some() {
            found.push(Difference::new(
                Weight::Case,
                "",
                "the transcript does not contain the exit of the process",
            ));
        }
        return found;
    };
    if expected == code {
        return found;
    }
    let name = |code: Option<i64>| code.map_or("none".to_owned(), |code| code.to_string());
    let message = format!("the exit code is {} instead of {}", name(code), name(expected));
    let difference = Difference::new(Weight::Case, "", message);
    let allowed =
        |wanted: fn(&Form) -> bool| rules.allowances().find(|row| wanted(&row.form)).map(|row| row.name);
    let by_signal = !recorded.signals.is_empty()
        && [expected, code].into_iter().flatten().all(|code| code < 0 || CLEAN.contains(&code));
    let at_start = golden.answers.is_empty()
        && recorded.signals.is_empty()
        && [expected, code].into_iter().all(|code| code.is_some_and(|code| code > 0));
    let allowance = if by_signal {
        allowed(|form| matches!(form, Form::SignalExit))
    } else if at_start {
        allowed(|form| matches!(form, Form::ExitCode))
    } else {
        None
    };
    found.push(match allowance {
        Some(allowance) => difference.allowed(allowance),
        None => difference,
    });
    found
}

fn recorded_exit(reading: &TranscriptStreams<'_>) -> RecordedExit {
    let signals = reading.transcript.signals().map(str::to_owned).collect();
    let mut end = RecordedExit { code: None, signals, errors: Vec::new() };
    for control in reading.transcript.controls() {
        let text = || control.text.clone().unwrap_or_default();
        match control.event.as_str() {
            "exit" | "exited" => match control.code {
                Maybe::Value(code) => end.code = Some(Some(code)),
                Maybe::Null => end.code = Some(None),
                Maybe::Absent => {}
            },
            "player_error" | "recorder_error" => end.errors.push(text()),
            _ => {}
        }
    }
    end
}
