//! One change that a mutator makes: its place, and its effect on the stream.

use crate::place::{Edit, Place, edited};

/// Effect on a line and on the lines after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Replaces the text at a place of the line.
    Edit(Place, Edit),
    /// Replaces the line and its line feed with these bytes.
    Bytes(Vec<u8>),
    /// Moves the line to the position after the agent's line with this index, counted from 0.
    Behind(usize),
    /// Moves the line to the end of the output.
    Last,
    /// Drops this line and all later ones; the agent ends with this exit code.
    Ends(i32),
    /// Drops this line and all later ones; the agent neither writes nor ends until it is killed.
    Hangs,
    /// Keeps all lines; the agent ends with this exit code instead of its own.
    Code(i32),
    /// Keeps all lines; the agent does not end until it is killed.
    Stays,
}

/// One way in which a mutator changes a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// Name of the mutator.
    pub mutator: &'static str,
    /// Index of the agent's line, counted from 0.
    pub at: usize,
    /// Place within the line; `None` if the effect concerns the line as a whole.
    pub place: Option<Place>,
    /// Effect of the application.
    pub effect: Effect,
}

impl Application {
    /// Returns the bytes that replace the line, with a line feed. Returns `None` if the line stays as it is.
    pub fn bytes(&self, line: &str) -> Option<Vec<u8>> {
        match &self.effect {
            Effect::Edit(place, edit) => edited(line, place, edit).map(|line| with_end(&line)),
            Effect::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Returns `true` if the output changes: the line gets other bytes, moves, or becomes the last one.
    pub fn changes(&self, line: &str) -> bool {
        self.bytes(line).is_none_or(|bytes| bytes != with_end(line))
    }
}

/// The changed output of an agent, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedOutput {
    /// Output in order: the index of each line of the agent, and the bytes to write.
    pub lines: Vec<(usize, Vec<u8>)>,
    /// The end of the agent, if the application changes it.
    pub end: Option<AgentEnd>,
}

/// End of a changed agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentEnd {
    /// Ends with this exit code.
    Code(i32),
    /// The agent is killed by a signal.
    Killed,
}

/// Applies one change to the lines of an agent.
pub fn apply(lines: &[&str], application: &Application) -> ChangedOutput {
    let mut said: Vec<(usize, Vec<u8>)> =
        lines.iter().enumerate().map(|(at, line)| (at, with_end(line))).collect();
    let mut end = None;
    match &application.effect {
        Effect::Edit(..) | Effect::Bytes(_) => {
            if let (Some((_, bytes)), Some(line)) = (said.get_mut(application.at), lines.get(application.at))
            {
                *bytes = application.bytes(line).unwrap_or_else(|| with_end(line));
            }
        }
        Effect::Behind(other) => move_behind(&mut said, application.at, *other),
        Effect::Last => move_behind(&mut said, application.at, lines.len().saturating_sub(1)),
        Effect::Ends(code) => {
            said.truncate(application.at);
            end = Some(AgentEnd::Code(*code));
        }
        Effect::Hangs => {
            said.truncate(application.at);
            end = Some(AgentEnd::Killed);
        }
        Effect::Code(code) => end = Some(AgentEnd::Code(*code)),
        Effect::Stays => end = Some(AgentEnd::Killed),
    }
    said.retain(|(_, bytes)| !bytes.is_empty());
    ChangedOutput { lines: said, end }
}

fn move_behind(lines: &mut [(usize, Vec<u8>)], at: usize, other: usize) {
    if let Some(part) = lines.get_mut(at..=other) {
        part.rotate_left(1);
    }
}

/// Returns the line with a line feed.
pub fn with_end(line: &str) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(at: usize, effect: Effect) -> (String, Option<AgentEnd>) {
        let application = Application { mutator: "m", at, place: None, effect };
        let changed = apply(&["{\"a\":1}", "b", "c"], &application);
        let bytes: Vec<u8> = changed.lines.into_iter().flat_map(|(_, bytes)| bytes).collect();
        (String::from_utf8(bytes).unwrap(), changed.end)
    }

    #[test]
    fn each_effect_changes_the_stream_as_documented() {
        let text = |at, effect| changed(at, effect).0;
        assert_eq!(
            text(0, Effect::Edit(Place::default().member("a"), Edit::Put("2".into()))),
            "{\"a\":2}\nb\nc\n"
        );
        assert_eq!(text(1, Effect::Bytes(Vec::new())), "{\"a\":1}\nc\n");
        assert_eq!(text(1, Effect::Bytes(b"x\ny\n".to_vec())), "{\"a\":1}\nx\ny\nc\n");
        assert_eq!(text(0, Effect::Behind(1)), "b\n{\"a\":1}\nc\n");
        assert_eq!(text(0, Effect::Last), "b\nc\n{\"a\":1}\n");
        assert_eq!(changed(1, Effect::Ends(3)), ("{\"a\":1}\n".into(), Some(AgentEnd::Code(3))));
        assert_eq!(changed(1, Effect::Hangs), ("{\"a\":1}\n".into(), Some(AgentEnd::Killed)));
        assert_eq!(changed(2, Effect::Code(3)), ("{\"a\":1}\nb\nc\n".into(), Some(AgentEnd::Code(3))));
    }
}
