//! What a connection has got and what it may have lost, without I/O.

use std::collections::VecDeque;

use serde::Deserialize;

use crate::scan::{self, Wanted, member};

/// What begins every word of a server of `agentese web`, which is no frame of the agent.
const MARK: &str = "{\"agentese\":";

/// How many questions are remembered: lines with the id of one of them are answers. No more answers than that are kept.
const QUESTIONS: usize = 1024;

/// What a server of `agentese web` says first.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Hello {
    /// `hello`; else it is no greeting.
    agentese: String,
    /// Whether it goes on where the connection was lost.
    back: bool,
    /// Whether it was asked to and cannot.
    lost: bool,
    /// The events of the run that is going on.
    begun: Vec<String>,
    /// Questions that nobody has answered.
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
struct Question {
    line: String,
}

/// What a message from the server leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// These frames are for the client.
    Frames(Vec<String>),
    /// The connection goes on where it was; [`Book::unsettled`] is to be sent again.
    Back,
    /// The connection is over: the server no longer has what was missed.
    Reload,
    /// The connection is over: the agent has ended.
    Ended,
}

/// A line that may be lost.
#[derive(Debug)]
struct Line {
    /// The raw id.
    id: String,
    /// Whether it answers a question; else it is a command.
    is_answer: bool,
    text: String,
}

/// The state of a connection that outlives its sockets.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// How many messages came, where the server lets a connection be taken up again.
    pub have: Option<u64>,
    /// In the order in which they were sent: commands until they are answered, and answers until a later command is. Of one
    /// question it is the newest line, which makes the progress before it pointless, and of answers the newest ones.
    unsettled: Vec<Line>,
    /// The raw ids of the agent's own questions, the newest last.
    questions: VecDeque<String>,
}

impl Book {
    /// A line that is about to be sent.
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

    /// Makes room for an answer: what was said before to the same question goes, and the oldest answer of too many.
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

    /// The lines that may be lost, in order.
    pub fn unsettled(&self) -> Vec<String> {
        self.unsettled.iter().map(|line| line.text.clone()).collect()
    }

    /// A message. `first` says whether it is the first one of its socket.
    pub fn hears(&mut self, message: &str, first: bool) -> Heard {
        let is_word = message.starts_with(MARK);
        if first {
            let hello = if is_word { serde_json::from_str(message).ok() } else { None };
            match hello.filter(|hello: &Hello| hello.agentese == "hello") {
                Some(hello) => return self.greeted(hello),
                // Nobody says that it goes on where it was.
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

    /// A frame of the agent: it answers a command, or it may be a question.
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

    /// Whether a frame with that id answers a command. The answers that were sent before that command have arrived, too.
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

    /// Both sides count from one there.
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
