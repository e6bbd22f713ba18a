//! Proxy between a client and a live agent, in which a mutator changes the agent's output line by line.
//!
//! [`Filter`] is the state machine, without I/O; [`run`] is the program around it.

mod program;
use crate::change::{AgentEnd, Effect};
use crate::stream::Stream;
use crate::{Application, Lookahead, Mutator};

pub use program::{ProxyError, ProxyOptions, Report, run};

/// State machine that passes on the output of an agent, and makes one of the changes that the mutator can
/// make.
#[derive(Debug)]
pub struct Filter {
    stream: Stream,
    mutator: Mutator,
    /// Number of possible changes that are skipped before one is made.
    to_skip: usize,
    /// Number of possible changes in the output so far.
    seen: usize,
    /// Line that is withheld until the next line arrives, because the mutator has to see both.
    held: Option<Vec<u8>>,
    /// Line that the change moves: the index of the line before its new place (`None`: the last line), and
    /// its bytes.
    moved: Option<(Option<usize>, Vec<u8>)>,
    applied: Option<Application>,
    end: Option<AgentEnd>,
}

impl Filter {
    /// Creates a filter that applies a mutator at the place with this number, counted from 0 in the order of
    /// the output.
    pub fn new(stream: Stream, mutator: Mutator, at: usize) -> Self {
        Self { stream, mutator, to_skip: at, seen: 0, held: None, moved: None, applied: None, end: None }
    }

    /// Returns the change, or `None` if it has not been made yet.
    pub fn applied(&self) -> Option<&Application> {
        self.applied.as_ref()
    }

    /// Returns the original text of the line that the proxy changed.
    pub fn changed_line(&self) -> Option<&str> {
        let at = self.applied.as_ref()?.at;
        self.stream.lines.get(at).map(|said| said.text.as_str())
    }

    /// Returns the number of places in the output so far at which the mutator can make a change.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Returns the changed end of the agent, with which the proxy ends at once. Returns `None` if the end is
    /// unchanged.
    pub fn end(&self) -> Option<AgentEnd> {
        self.end
    }

    /// Returns `true` if a line is withheld until the next line arrives. If no line arrives for a while, the
    /// caller has to [`release`](Self::release) it.
    pub fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Records a line from the client.
    pub fn client_line(&mut self, line: &[u8]) {
        self.stream.add_client_line(&text(line));
    }

    /// Handles a line from the agent, with its line feed. Returns the bytes to pass on.
    pub fn agent_line(&mut self, line: &[u8]) -> Vec<u8> {
        if self.end.is_some() {
            return Vec::new();
        }
        self.stream.add_agent_line(&text(line));
        let at = self.stream.lines.len() - 1;
        if self.applied.is_some() {
            let mut out = line.to_vec();
            if let Some((_, moved)) = self.moved.take_if(|(until, _)| *until == Some(at)) {
                out.extend(moved);
            }
            return out;
        }
        match self.mutator.lookahead {
            Lookahead::Line => match self.next_application(at) {
                Some(application) => self.apply(application, line, at),
                None => line.to_vec(),
            },
            Lookahead::Next => {
                let Some(before) = self.held.replace(line.to_vec()) else { return Vec::new() };
                let Some(application) = self.next_application(at - 1) else { return before };
                let mut out = self.apply(application, &before, at - 1);
                out.extend(self.held.take().unwrap_or_default());
                if let Some((_, moved)) = self.moved.take_if(|(until, _)| *until == Some(at)) {
                    out.extend(moved);
                }
                out
            }
            Lookahead::All => line.to_vec(),
        }
    }

    /// Returns the withheld line. Called if the next line does not arrive soon.
    pub fn release(&mut self) -> Vec<u8> {
        self.held.take().unwrap_or_default()
    }

    /// Handles the end of the agent's output. Returns the remaining bytes to pass on.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = self.release();
        if let Some((_, moved)) = self.moved.take() {
            out.extend(moved);
        }
        self.stream.complete = true;
        if self.mutator.lookahead == Lookahead::All && self.applied.is_none() && !self.stream.lines.is_empty()
        {
            let last = self.stream.lines.len() - 1;
            // The proxy cannot withdraw bytes that it has already written.
            if let Some(application) = self.next_application(last).filter(|found| at_the_end(&found.effect)) {
                self.apply(application, b"", last);
            }
        }
        out
    }

    /// Returns the change to make, if the mutator can change this line.
    fn next_application(&mut self, at: usize) -> Option<Application> {
        let mut found = self.mutator.applications_at(&self.stream, at);
        self.seen += found.len();
        if self.to_skip < found.len() {
            return Some(found.swap_remove(self.to_skip));
        }
        self.to_skip -= found.len();
        None
    }

    fn apply(&mut self, application: Application, line: &[u8], at: usize) -> Vec<u8> {
        let out = match &application.effect {
            Effect::Edit(..) | Effect::Bytes(_) => {
                application.bytes(&self.stream.lines[at].text).unwrap_or_else(|| line.to_vec())
            }
            Effect::Behind(other) => {
                self.moved = Some((Some(*other), line.to_vec()));
                Vec::new()
            }
            Effect::Last => {
                self.moved = Some((None, line.to_vec()));
                Vec::new()
            }
            Effect::Ends(code) => self.stop(AgentEnd::Code(*code)),
            Effect::Hangs | Effect::Stays => self.stop(AgentEnd::Killed),
            Effect::Code(code) => self.stop(AgentEnd::Code(*code)),
        };
        self.applied = Some(application);
        out
    }

    fn stop(&mut self, end: AgentEnd) -> Vec<u8> {
        self.end = Some(end);
        Vec::new()
    }
}

/// Returns `true` if the proxy can make the change after it has written the last line.
fn at_the_end(effect: &Effect) -> bool {
    matches!(effect, Effect::Code(_) | Effect::Stays)
}

/// Returns `true` if the mutator works while an agent is writing.
pub fn works_live(mutator: &Mutator) -> bool {
    let mut stream = Stream::new(agentese::dynamic::SPECS[0]);
    stream.add_agent_line("{}");
    stream.complete = true;
    mutator.lookahead != Lookahead::All
        || mutator.applications_at(&stream, 0).iter().any(|found| at_the_end(&found.effect))
}

/// Decodes a line as text, without its line feed.
fn text(line: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line))
}

/// Tests that compare the filter's output, line by line, with the output of
/// [`change::apply`](crate::change::apply) for all lines at once.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::with_end;
    use crate::{change, mutators};

    const LINES: &[&str] = &[
        r#"{"id":"a","type":"response","command":"prompt","success":true}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"turn_start"}"#,
        r#"{"type":"message_start","message":{"role":"user","content":"hi","timestamp":1}}"#,
        r#"{"type":"agent_end","messages":[]}"#,
        r#"{"id":"b","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":"ü\n"}}"#,
    ];

    fn stream() -> Stream {
        let mut stream = Stream::new(agentese::dynamic::spec("pi").unwrap());
        stream.add_client_line(r#"{"id":"a","type":"prompt","message":"hi"}"#);
        stream.add_client_line(r#"{"id":"b","type":"get_last_assistant_text"}"#);
        stream
    }

    /// Compares both for every mutator at every place.
    #[test]
    fn the_filter_equals_the_change_of_all_lines() {
        let mut complete = stream();
        LINES.iter().for_each(|line| complete.add_agent_line(line));
        complete.complete = true;
        let mut count = 0;
        for mutator in mutators().into_iter().filter(works_live) {
            for (at, application) in mutator.applications(&complete).into_iter().enumerate() {
                let expected = change::apply(LINES, &application);
                let bytes: Vec<u8> = expected.lines.into_iter().flat_map(|(_, bytes)| bytes).collect();
                let mut filter = Filter::new(stream(), mutator, at);
                let mut out: Vec<u8> =
                    LINES.iter().flat_map(|line| filter.agent_line(&with_end(line))).collect();
                out.extend(filter.finish());
                // The line with which another is swapped may depend on later output.
                let application = filter.applied().cloned().map_or(application, |found| found);
                let told = format!("{} at {at}: {application:?}", mutator.name);
                let live = change::apply(LINES, &application);
                let live_bytes: Vec<u8> = live.lines.into_iter().flat_map(|(_, bytes)| bytes).collect();
                assert!(out == bytes || out == live_bytes, "{told}: {}", String::from_utf8_lossy(&out));
                assert_eq!(filter.end(), expected.end, "{told}");
                count += 1;
            }
        }
        assert!(count > 100, "{count}");
    }

    #[test]
    fn a_waiting_line_is_released_without_a_next_one() {
        let mut filter = Filter::new(stream(), crate::mutator("swap-events").unwrap(), 0);
        assert_eq!(filter.agent_line(&with_end(LINES[2])), b"");
        assert!(filter.holds());
        assert_eq!(filter.release(), with_end(LINES[2]));
        assert_eq!(filter.agent_line(&with_end(LINES[3])), b"");
        assert_eq!(filter.finish(), with_end(LINES[3]));
        assert_eq!(filter.applied(), None);
    }

    #[test]
    fn passed_lines_are_not_changed() {
        let names = |live: bool| -> Vec<_> {
            let all = mutators().into_iter().filter(|mutator| works_live(mutator) == live);
            all.map(|mutator| mutator.name).collect()
        };
        assert_eq!(names(false), ["drop-last", "event-at-exit", "answer-at-exit", "last-line-open"]);
        assert!(names(true).contains(&"other-exit-code"));
    }
}
