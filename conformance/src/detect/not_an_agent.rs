//! Detection of programs that are not agents.

use agentese::framing::FrameText;
use serde_json::Value;

/// Length of a quoted line in characters.
const MAX_QUOTE: usize = 60;

/// Reason why a program is not an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnAgentError {
    /// The program printed nothing.
    #[error("no output")]
    Silent,
    /// The program only repeats its input.
    #[error("not an agent: the program echoes its input")]
    Echo,
    /// No line of the program is a JSON object.
    #[error("not an agent: the output has no JSON object; it starts with `{first}`")]
    Noise {
        /// Beginning of the program's first line.
        first: String,
    },
}

/// Checks that the output comes from an agent.
///
/// # Errors
/// If the output does not come from an agent.
pub(super) fn check_agent(lines: &[(bool, &FrameText)]) -> Result<(), NotAnAgentError> {
    let mut received = lines.iter().filter(|(is_sent, _)| !is_sent).map(|(_, line)| *line).peekable();
    let Some(first) = received.peek() else { return Err(NotAnAgentError::Silent) };
    let noise = NotAnAgentError::Noise { first: first.as_str().chars().take(MAX_QUOTE).collect() };
    let sent: Vec<NormalizedLine> =
        lines.iter().filter(|(is_sent, _)| *is_sent).map(|(_, line)| NormalizedLine::of(line)).collect();
    let mut echoes = 0;
    for said in received.map(NormalizedLine::of) {
        match said {
            said if sent.contains(&said) => echoes += 1,
            NormalizedLine::Frame(_) => return Ok(()),
            NormalizedLine::Text(_) => {}
        }
    }
    Err(if echoes > 0 { NotAnAgentError::Echo } else { noise })
}

/// A line in a form that can be compared: a frame by its content, any other line by its text.
#[derive(Debug, PartialEq)]
enum NormalizedLine {
    Frame(Value),
    Text(String),
}

impl NormalizedLine {
    fn of(line: &FrameText) -> Self {
        match serde_json::from_str::<Value>(line.as_str()) {
            Ok(frame) if frame.is_object() => NormalizedLine::Frame(frame),
            _ => NormalizedLine::Text(line.as_str().trim().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_noise_and_silence_are_no_agents() {
        let noise = |first: &str| Err(NotAnAgentError::Noise { first: first.to_owned() });
        let (asked, loose) = (r#"{"id":1,"type":"x"}"#, r#"{ "type": "x", "id": 1 }"#);
        type Row<'a> = (&'a [(bool, &'a str)], Result<(), NotAnAgentError>);
        let table: [Row<'_>; 8] = [
            (&[(true, asked)], Err(NotAnAgentError::Silent)),
            (&[(true, asked), (false, asked)], Err(NotAnAgentError::Echo)),
            (&[(true, asked), (false, loose)], Err(NotAnAgentError::Echo)),
            (&[(true, asked), (false, "ready>"), (false, asked)], Err(NotAnAgentError::Echo)),
            (&[(true, asked), (false, "what?"), (false, "[1]")], noise("what?")),
            (&[(true, asked), (false, asked), (false, r#"{"id":1}"#)], Ok(())),
            (&[(true, "loose talk"), (false, "loose talk")], Err(NotAnAgentError::Echo)),
            (&[(false, r#"{"type":"x"}"#)], Ok(())),
        ];
        for (lines, wanted) in table {
            let texts: Vec<(bool, FrameText)> =
                lines.iter().map(|(is_sent, line)| (*is_sent, FrameText::from(*line))).collect();
            let lines: Vec<(bool, &FrameText)> =
                texts.iter().map(|(is_sent, line)| (*is_sent, line)).collect();
            assert_eq!(check_agent(&lines), wanted, "{lines:?}");
        }
    }
}
