//! The received and possibly lost messages of a connection, without I/O.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::scan::{self, MemberSet, member};

/// The prefix of control messages of an `agentese web` server, which are not frames of the agent.
const SERVER_MESSAGE_PREFIX: &str = "{\"agentese\":";

/// The maximum number of stored questions. A line with the id of one of them is an answer. At most that many
/// answers are stored.
const MAX_QUESTIONS: usize = 1024;

/// The first message of an `agentese web` server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hello {
    /// `hello`; any other value is not a greeting.
    agentese: String,
    /// `true` if the server resumes the lost connection.
    back: bool,
    /// `true` if the server cannot resume the connection.
    lost: bool,
    /// The events of the current run.
    begun: Vec<String>,
    /// The questions without an answer.
    questions: Vec<UnansweredQuestion>,
}

#[derive(Debug, Deserialize)]
struct UnansweredQuestion {
    line: String,
}

/// The effect of a message from the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MessageEffect {
    /// Frames for the client.
    Frames(Vec<String>),
    /// The connection is resumed; the client repeats [`ResumeState::unsettled`].
    Resumed,
    /// The connection has ended: the server no longer has the missed messages.
    Reload,
    /// The connection has ended: the agent has ended.
    Ended,
}

/// A line that may be lost.
#[derive(Debug)]
struct UnsettledLine {
    /// The id as JSON text.
    id: String,
    /// `true` for an answer to a question, false for a command.
    is_answer: bool,
    text: String,
}

/// The state of a connection beyond the life of its sockets.
#[derive(Debug, Default)]
pub(super) struct ResumeState {
    /// The number of received messages, if the server supports resumption.
    pub received: Option<u64>,
    /// The possibly lost lines, in the order of their sending: commands until their response, and answers
    /// until the response to a later command. Of each question, only the newest line is stored, because it
    /// supersedes earlier progress.
    unsettled: Vec<UnsettledLine>,
    /// The raw ids of the agent's own questions, the newest last.
    questions: VecDeque<String>,
}

impl ResumeState {
    /// Records a line before it is sent.
    pub fn record_sent(&mut self, line: &str) {
        const WANTED: MemberSet<3> = MemberSet::new([member("id"), member("jsonrpc"), member("method")]);
        let Ok(found) = scan::scan(line, &WANTED) else { return };
        let Some(id) = found.get(0).filter(|id| *id != "null") else { return };
        let is_answer = match found.get(1) {
            Some(_) => found.get(2).is_none(),
            None => self.questions.iter().any(|known| known == id),
        };
        if is_answer {
            self.drop_answer_for(id);
        }
        self.unsettled.push(UnsettledLine { id: id.to_owned(), is_answer, text: line.to_owned() });
    }

    /// Makes room for an answer: removes the previous answer to the same question, or the oldest answer if
    /// there are too many.
    fn drop_answer_for(&mut self, id: &str) {
        let same = self.unsettled.iter().position(|line| line.is_answer && line.id == id);
        let gone = same.or_else(|| {
            let answers = self.unsettled.iter().filter(|line| line.is_answer).count();
            let oldest = || self.unsettled.iter().position(|line| line.is_answer);
            (answers >= MAX_QUESTIONS).then(oldest).flatten()
        });
        if let Some(at) = gone {
            self.unsettled.remove(at);
        }
    }

    /// Returns the lines that may be lost, in order.
    pub fn unsettled(&self) -> Vec<String> {
        self.unsettled.iter().map(|line| line.text.clone()).collect()
    }

    /// Reads a message. `first` is true for the first message of a socket.
    pub fn receive(&mut self, message: &str, first: bool) -> MessageEffect {
        let is_word = message.starts_with(SERVER_MESSAGE_PREFIX);
        if first {
            let hello = if is_word { serde_json::from_str(message).ok() } else { None };
            match hello.filter(|hello: &Hello| hello.agentese == "hello") {
                Some(hello) => return self.handle_hello(hello),
                // The server did not confirm the resumption.
                None if self.received.is_some() => return MessageEffect::Reload,
                None => {}
            }
        }
        if let Some(have) = &mut self.received {
            *have += 1;
            if is_word {
                const WANTED: MemberSet<1> = MemberSet::new([member("agentese")]);
                let word = scan::scan(message, &WANTED).ok();
                return match word.as_ref().and_then(|found| found.string(0)).as_deref() {
                    Some("reload") => MessageEffect::Reload,
                    Some("ended") => MessageEffect::Ended,
                    _ => MessageEffect::Frames(Vec::new()),
                };
            }
        }
        self.frame(message);
        MessageEffect::Frames(vec![message.to_owned()])
    }

    fn handle_hello(&mut self, hello: Hello) -> MessageEffect {
        if hello.back {
            return MessageEffect::Resumed;
        }
        if hello.lost || self.received.is_some() {
            return MessageEffect::Reload;
        }
        self.received = Some(0);
        let mut frames = hello.begun;
        frames.extend(hello.questions.into_iter().map(|question| question.line));
        for frame in &frames {
            self.frame(frame);
        }
        MessageEffect::Frames(frames)
    }

    /// Reads a frame of the agent: the response to a command, or possibly a question.
    fn frame(&mut self, line: &str) {
        const WANTED: MemberSet<2> = MemberSet::new([member("id"), member("method")]);
        let Ok(found) = scan::scan(line, &WANTED) else { return };
        let Some(id) = found.get(0).filter(|id| *id != "null") else { return };
        if found.get(1).is_none() && self.settle_command(id) {
            return;
        }
        if self.questions.len() == MAX_QUESTIONS {
            self.questions.pop_front();
        }
        self.questions.push_back(id.to_owned());
    }

    /// Returns `true` if a frame with the given id responds to a command. The answers sent before that
    /// command have then arrived, too.
    fn settle_command(&mut self, id: &str) -> bool {
        let Some(at) = self.unsettled.iter().position(|line| !line.is_answer && line.id == id) else {
            return false;
        };
        self.unsettled.remove(at);
        let mut place = 0;
        self.unsettled.retain(|line| {
            place += 1;
            place > at || !line.is_answer
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = r#"{"agentese":"hello","back":false,"lost":false,"begun":["{\"type\":\"x\"}"],"questions":[{"line":"{\"type\":\"ask\",\"id\":\"q\"}","ago":1}]}"#;

    fn frames(frames: &[&str]) -> MessageEffect {
        MessageEffect::Frames(frames.iter().map(|frame| (*frame).to_owned()).collect())
    }

    #[test]
    fn the_hello_carries_the_current_run_and_is_not_counted() {
        let mut state = ResumeState::default();
        assert_eq!(state.receive(HELLO, true), frames(&[r#"{"type":"x"}"#, r#"{"type":"ask","id":"q"}"#]));
        assert_eq!(state.received, Some(0));
        assert_eq!(state.receive(r#"{"agentese":"sent","line":"{}"}"#, false), frames(&[]));
        assert_eq!(state.receive(r#"{"type":"x"}"#, false), frames(&[r#"{"type":"x"}"#]));
        assert_eq!(state.received, Some(2), "control messages are counted");
        assert_eq!(state.receive(r#"{"agentese":"reload"}"#, false), MessageEffect::Reload);
        assert_eq!(state.receive(r#"{"agentese":"ended"}"#, false), MessageEffect::Ended);
        assert_eq!(state.receive(r#"{"agentese":"hello","back":true}"#, true), MessageEffect::Resumed);
        assert_eq!(state.receive(r#"{"agentese":"hello","lost":true}"#, true), MessageEffect::Reload);
    }

    #[test]
    fn a_reconnect_that_is_not_resumed_ends_with_a_reload() {
        for first in [
            r#"{"agentese":"hello"}"#,
            r#"{"agentese":"hello","back":false,"lost":false}"#,
            r#"{"agentese":"hello","back":"yes"}"#,
            r#"{"agentese":"hello","#,
            r#"{"agentese":"sent","back":true}"#,
            r#"{"type":"x"}"#,
        ] {
            let mut state = ResumeState { received: Some(3), ..ResumeState::default() };
            assert_eq!(state.receive(first, true), MessageEffect::Reload, "{first}");
        }
        let mut state = ResumeState::default();
        let unreadable = r#"{"agentese":"hello","#;
        assert_eq!(state.receive(unreadable, true), frames(&[unreadable]));
        assert_eq!(state.received, None, "the server did not announce that it can resume");
    }

    #[test]
    fn a_server_without_a_hello_sends_only_frames() {
        let mut state = ResumeState::default();
        assert_eq!(state.receive(r#"{"type":"x"}"#, true), frames(&[r#"{"type":"x"}"#]));
        let message = r#"{"agentese":"ended"}"#;
        assert_eq!(state.receive(message, false), frames(&[message]), "it is no control message there");
        assert_eq!(state.received, None);
    }

    #[test]
    fn unanswered_lines_are_sent_again_in_order() {
        let mut state = ResumeState::default();
        let (ask, one, two) =
            (r#"{"type":"yes","id":"q"}"#, r#"{"id":"1","type":"a"}"#, r#"{"id":"2","type":"b"}"#);
        state.receive(HELLO, true);
        for line in [one, ask, two, r#"{"type":"no_id"}"#] {
            state.record_sent(line);
        }
        assert_eq!(state.unsettled(), [one, ask, two]);
        state.receive(r#"{"id":"1","type":"response"}"#, false);
        assert_eq!(state.unsettled(), [ask, two], "the answer came before it arrived, perhaps");
        state.receive(r#"{"id":"2","type":"response"}"#, false);
        assert!(state.unsettled().is_empty());
    }

    #[test]
    fn of_one_question_the_newest_line_is_kept_and_of_answers_the_newest_ones() {
        let mut state = ResumeState::default();
        state.receive(HELLO, true);
        let (progress, answer) = (r#"{"type":"update","id":"q"}"#, r#"{"type":"yes","id":"q"}"#);
        state.record_sent(progress);
        state.record_sent(answer);
        assert_eq!(state.unsettled(), [answer]);
        let asked = |number: usize| format!(r#"{{"type":"ask","id":"q{number}"}}"#);
        let answered = |number: usize| format!(r#"{{"type":"yes","id":"q{number}"}}"#);
        for number in 0..MAX_QUESTIONS {
            state.receive(&asked(number), false);
            state.record_sent(&answered(number));
        }
        assert_eq!(state.unsettled(), (0..MAX_QUESTIONS).map(answered).collect::<Vec<_>>());
        state.record_sent(r#"{"id":"1","type":"a"}"#);
        state.receive(r#"{"id":"1","type":"response"}"#, false);
        assert!(state.unsettled().is_empty());
    }

    /// Both sides count their ids from one.
    #[test]
    fn a_question_of_json_rpc_settles_no_command_with_the_same_id() {
        let mut state = ResumeState::default();
        let command = r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        state.record_sent(command);
        state.receive(r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#, false);
        state.record_sent(answer);
        assert_eq!(state.unsettled(), [command, answer]);
        state.receive(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false);
        assert_eq!(state.unsettled(), [answer]);
    }
}
