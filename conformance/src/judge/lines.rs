//! Checks of every line of an agent: valid UTF-8 with a line feed, a frame, and no keys.

use agentese::types::{CheckLevel, Direction, TranscriptRecord};

use super::frames::is_json;
use super::{failed, wrong_line};
use crate::Transcript;
use crate::leaks::leaks as leaks_in;
use crate::recording::{NOT_UTF8, Recording};
use crate::suggestions::counted;
use crate::transcript::{Record, whole_line};
use crate::verdict::{Finding, Outcome};

/// Checks that lines are UTF-8 and end with a line feed. If a signal ended the agent, the last line may lack
/// the line feed.
pub(super) fn lines(recording: &Recording) -> Finding {
    let mut unended = false;
    let mut invalid = 0;
    let mut by_signal = false;
    let mut carriage_returns = 0;
    for record in &recording.records {
        match record {
            TranscriptRecord::Line(line) if line.dir == Direction::S2c => {
                carriage_returns += usize::from(whole_line(line).is_some_and(|text| text.ends_with('\r')));
                unended |= line.eol.as_option().is_some_and(String::is_empty);
            }
            TranscriptRecord::Control(control) => {
                invalid += usize::from(control.event == NOT_UTF8);
                by_signal |= control.code.as_option().is_some_and(|code| *code < 0);
            }
            _ => {}
        }
    }
    let outcome = if invalid > 0 {
        failed(counted(invalid, "line of the agent is not UTF-8", "lines of the agent are not UTF-8"))
    } else if unended && !by_signal {
        failed("the last line of the agent does not end with a line feed")
    } else if carriage_returns > 0 {
        let (one, many) =
            ("line ends with CR LF instead of a line feed", "lines end with CR LF instead of a line feed");
        failed(counted(carriage_returns, one, many))
    } else {
        Outcome::Held
    };
    Finding { check: "lines".to_owned(), level: CheckLevel::Must, outcome }
}

/// Checks that stdout contains only JSON. Used only without a golden transcript, because a comparison with
/// one also finds other lines.
pub(super) fn noise(level: CheckLevel, observed: &Transcript) -> Finding {
    let is_noise = |record: &Record| matches!(record, Record::Received(line) if !is_json(line));
    let outcome = match observed.records.iter().position(is_noise) {
        None => Outcome::Held,
        Some(at) => wrong_line(observed, at, "a line on stdout is not JSON".to_owned()),
    };
    Finding { check: "noise".to_owned(), level, outcome }
}

/// Checks that the agent's output contains no text that looks like a key, except texts that the client sent.
pub(super) fn leaks(observed: &Transcript) -> Finding {
    let sent: String = observed.sent().map(|line| line.as_str().to_owned() + "\n").collect();
    let found = observed.records.iter().enumerate().find_map(|(at, record)| {
        let Record::Received(line) = record else { return None };
        let leak = leaks_in(line.as_str()).into_iter().find(|leak| !sent.contains(&leak.beginning))?;
        Some((at, leak))
    });
    // The report does not contain the line, because reports are published.
    let outcome = match found {
        None => Outcome::Held,
        Some((at, leak)) => failed(format!("line {at} contains {}: {}…", leak.kind, leak.beginning)),
    };
    Finding { check: "leaks".to_owned(), level: CheckLevel::Must, outcome }
}
