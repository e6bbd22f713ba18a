//! The received and possibly lost messages of a connection, without I/O.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::scan::{self, Wanted, member};

/// The prefix of control messages of an `agentese web` server, which are not frames of the agent.
const MARK: &str = "{\"agentese\":";

/// The maximum number of stored questions. A line with the id of one of them is an answer. At most that many
/// answers are stored.
const QUESTIONS: usize = 1024;

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
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
struct Question {
    line: String,
}

/// The effect of a message from the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Frames for the client.
    Frames(Vec<String>),
    /// The connection is resumed; the client repeats [`Book::unsettled`].
    Back,
    /// The connection has ended: the server no longer has the missed messages.
    Reload,
    /// The connection has ended: the agent has ended.
    Ended,
}

/// A line that may be lost.
#[derive(Debug)]
struct Line {
    /// The raw id.
    id: String,
    /// `true` for an answer to a question, false for a command.
    is_answer: bool,
    text: String,
}

/// The state of a connection beyond the life of its sockets.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// The number of received messages, if the server supports resumption.
    pub have: Option<u64>,
    /// The possibly lost lines, in the order of their sending: commands until their response, and answers
    /// until the response to a later command. Of each question, only the newest line is stored, because it
    /// supersedes earlier progress.
    unsettled: Vec<Line>,
    /// The raw ids of the agent's own questions, the newest last.
    questions: VecDeque<String>,
}

impl Book {
    /// Records a line before it is sent.
    pub fn sends(&mut self, line: &str) {
        const WANTED: Wanted<3> = Wanted::new([member("id"), member("jsonrpc"), member("method")]);
        let Ok(found) = scan::scan(line, &WANTED) else { return };
        let Some(id) = found.get(0).filter(|id| *id != "null") else { return };
        let is_answer = match found.get(1) {
            Some(_) => found.get(2).is_none(),
            None => self.questions.iter().any(|known| known == id),
        };
        if is_answer {
            self.forget_for(id);
        }
        self.unsettled.push(Line { id: id.to_owned(), is_answer, text: line.to_owned() });
    }

    /// Makes room for an answer: removes the previous answer to the same question, or the oldest answer if
    /// there are too many.
    fn forget_for(&mut self, id: &str) {
        let same = self.unsettled.iter().position(|line| line.is_answer && line.id == id);
        let gone = same.or_else(|| {
            let answers = self.unsettled.iter().filter(|line| line.is_answer).count();
            let oldest = || self.unsettled.iter().position(|line| line.is_answer);
            (answers >= QUESTIONS).then(oldest).flatten()
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
    pub fn hears(&mut self, message: &str, first: bool) -> Heard {
        let is_word = message.starts_with(MARK);
        if first {
            let hello = if is_word { serde_json::from_str(message).ok() } else { None };
            match hello.filter(|hello: &Hello| hello.agentese == "hello") {
                Some(hello) => return self.greeted(hello),
                // The server did not confirm the resumption.
                None if self.have.is_some() => return Heard::Reload,
                None => {}
            }
        }
        if let Some(have) = &mut self.have {
            *have += 1;
            if is_word {
                const WANTED: Wanted<1> = Wanted::new([member("agentese")]);
                let word = scan::scan(message, &WANTED).ok();
                return match word.as_ref().and_then(|found| found.string(0)).as_deref() {
                    Some("reload") => Heard::Reload,
                    Some("ended") => Heard::Ended,
                    _ => Heard::Frames(Vec::new()),
                };
            }
        }
        self.frame(message);
        Heard::Frames(vec![message.to_owned()])
    }

    fn greeted(&mut self, hello: Hello) -> Heard {
        if hello.back {
            return Heard::Back;
        }
        if hello.lost || self.have.is_some() {
            return Heard::Reload;
        }
        self.have = Some(0);
        let mut frames = hello.begun;
        frames.extend(hello.questions.into_iter().map(|question| question.line));
        for frame in &frames {
            self.frame(frame);
        }
        Heard::Frames(frames)
    }

    /// Reads a frame of the agent: the response to a command, or possibly a question.
    fn frame(&mut self, line: &str) {
        const WANTED: Wanted<2> = Wanted::new([member("id"), member("method")]);
        let Ok(found) = scan::scan(line, &WANTED) else { return };
        let Some(id) = found.get(0).filter(|id| *id != "null") else { return };
        if found.get(1).is_none() && self.settled(id) {
            return;
        }
        if self.questions.len() == QUESTIONS {
            self.questions.pop_front();
        }
        self.questions.push_back(id.to_owned());
    }

    /// Returns `true` if a frame with that id responds to a command. The answers sent before that command have
    /// then arrived, too.
    fn settled(&mut self, id: &str) -> bool {
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

    fn frames(frames: &[&str]) -> Heard {
        Heard::Frames(frames.iter().map(|frame| (*frame).to_owned()).collect())
    }

    #[test]
    fn the_first_word_tells_what_has_begun_and_is_not_counted() {
        let mut book = Book::default();
        assert_eq!(book.hears(HELLO, true), frames(&[r#"{"type":"x"}"#, r#"{"type":"ask","id":"q"}"#]));
        assert_eq!(book.have, Some(0));
        assert_eq!(book.hears(r#"{"agentese":"sent","line":"{}"}"#, false), frames(&[]));
        assert_eq!(book.hears(r#"{"type":"x"}"#, false), frames(&[r#"{"type":"x"}"#]));
        assert_eq!(book.have, Some(2), "words count");
        assert_eq!(book.hears(r#"{"agentese":"reload"}"#, false), Heard::Reload);
        assert_eq!(book.hears(r#"{"agentese":"ended"}"#, false), Heard::Ended);
        assert_eq!(book.hears(r#"{"agentese":"hello","back":true}"#, true), Heard::Back);
        assert_eq!(book.hears(r#"{"agentese":"hello","lost":true}"#, true), Heard::Reload);
    }

    #[test]
    fn who_comes_back_and_is_not_told_that_it_goes_on_begins_anew() {
        for first in [
            r#"{"agentese":"hello"}"#,
            r#"{"agentese":"hello","back":false,"lost":false}"#,
            r#"{"agentese":"hello","back":"yes"}"#,
            r#"{"agentese":"hello","#,
            r#"{"agentese":"sent","back":true}"#,
            r#"{"type":"x"}"#,
        ] {
            let mut book = Book { have: Some(3), ..Book::default() };
            assert_eq!(book.hears(first, true), Heard::Reload, "{first}");
        }
        let mut book = Book::default();
        let unreadable = r#"{"agentese":"hello","#;
        assert_eq!(book.hears(unreadable, true), frames(&[unreadable]));
        assert_eq!(book.have, None, "nobody said that it can be taken up again");
    }

    #[test]
    fn a_server_without_a_first_word_sends_frames_alone() {
        let mut book = Book::default();
        assert_eq!(book.hears(r#"{"type":"x"}"#, true), frames(&[r#"{"type":"x"}"#]));
        let word = r#"{"agentese":"ended"}"#;
        assert_eq!(book.hears(word, false), frames(&[word]), "it is no word there");
        assert_eq!(book.have, None);
    }

    #[test]
    fn what_was_not_answered_is_sent_again_in_order() {
        let mut book = Book::default();
        let (ask, one, two) =
            (r#"{"type":"yes","id":"q"}"#, r#"{"id":"1","type":"a"}"#, r#"{"id":"2","type":"b"}"#);
        book.hears(HELLO, true);
        for line in [one, ask, two, r#"{"type":"no_id"}"#] {
            book.sends(line);
        }
        assert_eq!(book.unsettled(), [one, ask, two]);
        book.hears(r#"{"id":"1","type":"response"}"#, false);
        assert_eq!(book.unsettled(), [ask, two], "the answer came before it arrived, perhaps");
        book.hears(r#"{"id":"2","type":"response"}"#, false);
        assert!(book.unsettled().is_empty());
    }

    #[test]
    fn of_one_question_the_newest_line_is_kept_and_of_answers_the_newest_ones() {
        let mut book = Book::default();
        book.hears(HELLO, true);
        let (progress, answer) = (r#"{"type":"update","id":"q"}"#, r#"{"type":"yes","id":"q"}"#);
        book.sends(progress);
        book.sends(answer);
        assert_eq!(book.unsettled(), [answer]);
        let asked = |number: usize| format!(r#"{{"type":"ask","id":"q{number}"}}"#);
        let answered = |number: usize| format!(r#"{{"type":"yes","id":"q{number}"}}"#);
        for number in 0..QUESTIONS {
            book.hears(&asked(number), false);
            book.sends(&answered(number));
        }
        assert_eq!(book.unsettled(), (0..QUESTIONS).map(answered).collect::<Vec<_>>());
        book.sends(r#"{"id":"1","type":"a"}"#);
        book.hears(r#"{"id":"1","type":"response"}"#, false);
        assert!(book.unsettled().is_empty());
    }

    /// Both sides count their ids from one.
    #[test]
    fn a_question_of_json_rpc_settles_no_command_with_the_same_id() {
        let mut book = Book::default();
        let command = r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#;
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        book.sends(command);
        book.hears(r#"{"jsonrpc":"2.0","id":1,"method":"ask"}"#, false);
        book.sends(answer);
        assert_eq!(book.unsettled(), [command, answer]);
        book.hears(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false);
        assert_eq!(book.unsettled(), [answer]);
    }
}
