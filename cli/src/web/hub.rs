//! One agent and several tabs: who gets what, without I/O.
//!
//! Every tab counts its commands by itself. On their way to the agent the ids get the tab's number, and the answers go to
//! that tab with the ids that it gave. Events go to all tabs. A question goes to all of them too; the first answer counts,
//! and the others are told that it is withdrawn.

use std::collections::HashMap;
use std::time::Instant;

use agentese::chunks::Assembler;
use agentese::correlate::Table;
use agentese::revision::Known;
use agentese::scan::{self, Wanted, member};
use agentese::spec::{Access, Answer, RunRole, Spec};
use agentese::strict::{self, StrictKind};
use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};

use self::lines::named_session;
use super::access::Policy;
use super::log::{Common, Entry, KEPT, Kind, Seat, To};
use super::questions::Questions;
use super::serve::Asked;
use super::splice;
use super::tabs::{Place, Tabs};

/// How much of what happened a tab is told that comes late, in bytes.
const REPEATED: usize = 4 * 1024 * 1024;
/// The longest id of a tab's frame or of a question, in bytes of JSON.
pub(super) const LONGEST_ID: usize = 1024;
/// The most commands that may wait for their answers.
const MOST_CALLS: usize = 16 * 1024;

/// A command without an answer.
#[derive(Debug)]
struct Caller {
    seat: Seat,
    /// The raw id that the tab gave.
    id: Option<String>,
    /// Whether the others are told of it: it changes something.
    is_told: bool,
}

/// What a line of a tab leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The line for the agent.
    Line(String),
    /// Something that the tab asks of the server itself.
    Own(Own),
    /// Nothing that the agent would see.
    Nothing,
}

/// What a tab asks of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// The list of sessions.
    Sessions,
    /// To start the agent again.
    Restart,
}

/// Where a tab begins to read.
#[derive(Debug)]
pub(super) struct Joined {
    pub seat: Seat,
    /// The number of the next message.
    pub next: u64,
    /// What the tab is told first.
    pub hello: Value,
}

/// The agent, as tabs are told of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Agent {
    pub command: Vec<String>,
    pub cwd: String,
    /// The revision of the dialect, where it is known.
    pub revision: Option<&'static str>,
    /// Why it does not run.
    pub ended: Option<Value>,
}

/// One agent and its tabs.
#[derive(Debug)]
pub(super) struct Hub {
    spec: &'static Spec,
    policy: Policy,
    pub agent: Agent,
    /// What the agent's events say of its revision.
    known: Known,
    pub tabs: Tabs,
    /// The tab that said something last.
    active: Option<Seat>,
    /// The tab that opens the session of an agent that was started again.
    resuming: Option<Seat>,
    commands: u64,
    calls: Table<Caller>,
    /// The raw ids under which the agent knows the calls, and what the tabs call them.
    ids: HashMap<String, (Seat, String)>,
    questions: Questions,
    /// The answers to questions that the tabs are not shown.
    dismissals: Vec<String>,
    pieces: Assembler,
    /// The session that a tab or the agent spoke of last, where a connection has several.
    session: Option<String>,
    running: bool,
    /// The number of the message with which the newest run began.
    run_began: u64,
    /// The number of the message about the newest command that starts a run, until the run begins.
    asked_at: Option<u64>,
}

impl Hub {
    pub fn new(spec: &'static Spec, policy: Policy, agent: Agent) -> Self {
        let named = spec.revisions.iter().copied().find(|spec| agent.revision == Some(spec.revision));
        Self {
            spec,
            policy,
            agent,
            known: Known::new(spec, named),
            tabs: Tabs::new(KEPT),
            active: None,
            resuming: None,
            commands: 0,
            calls: Table::new(),
            ids: HashMap::new(),
            questions: Questions::default(),
            dismissals: Vec::new(),
            pieces: Assembler::default(),
            session: None,
            running: false,
            run_began: 0,
            asked_at: None,
        }
    }

    /// A tab comes, or comes back; see [`Tabs::join`].
    pub fn join(&mut self, tab: &Asked, now: Instant) -> Joined {
        let Place { seat, next, is_back } = self.tabs.join(&tab.name, tab.have, tab.all);
        let begun = if is_back { Common::default() } else { self.begun(tab.all) };
        Joined { seat, next, hello: self.hello(is_back, tab.have.is_some(), begun, now) }
    }

    /// What a tab that comes late is told: all that happened where it wants that and it is little, else of the run that
    /// is going on its beginning and the newest of it.
    fn begun(&self, all: bool) -> Common {
        let log = &self.tabs.log;
        if all && log.first() == 0 {
            let whole = log.common(0, false, usize::MAX);
            if whole.messages.iter().map(|text| text.len()).sum::<usize>() <= REPEATED {
                return whole;
            }
        }
        if self.running { log.common(self.run_began, !all, REPEATED) } else { Common::default() }
    }

    fn hello(&self, back: bool, asked: bool, begun: Common, now: Instant) -> Value {
        let (questions, unshown) = if back { (Vec::new(), 0) } else { self.questions.told(now) };
        let (begun, cut) = (&begun.messages, begun.is_cut);
        let begun: Vec<_> = begun.iter().map(Utf8Bytes::as_str).collect();
        json!({
            "agentese": "hello", "version": env!("CARGO_PKG_VERSION"), "back": back, "lost": asked && !back,
            "dialect": self.spec.name, "revision": self.agent.revision, "command": self.agent.command, "cwd": self.agent.cwd,
            "ended": self.agent.ended, "running": self.running, "session": self.session,
            "readOnly": self.policy.read_only, "deny": self.policy.deny,
            "begun": begun, "cut": cut, "questions": questions, "unshown": unshown,
        })
    }

    /// The dialect's name.
    pub fn dialect(&self) -> &'static str {
        self.spec.name
    }

    /// Takes the lines that answer questions which no tab was shown, for the agent.
    pub fn take_dismissals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.dismissals)
    }

    /// Whether there is nothing from that number on.
    pub fn is_read(&self, from: u64) -> bool {
        from >= self.tabs.log.end()
    }

    fn push(&mut self, to: To, text: impl Into<Utf8Bytes>) {
        self.tabs.push(Entry { to, text: text.into(), kind: Kind::Frame });
    }

    /// Tells tabs something that is no frame of the agent.
    pub fn say(&mut self, to: To, what: Value) {
        self.tabs.push(Entry { to, text: what.to_string().into(), kind: Kind::Word });
    }

    /// Tells the other tabs what one of them sent, or how that was answered.
    fn tell(&mut self, but: Seat, how: &str, line: &str) {
        let text = json!({"agentese": how, "line": line}).to_string().into();
        self.tabs.push(Entry { to: To::AllBut(but), text, kind: Kind::Told });
    }

    /// A line of a tab. One that may mean different things to different readers is refused.
    pub fn heard(&mut self, seat: Seat, text: &str) -> Heard {
        const WANTED: Wanted<1> = Wanted::new([member("agentese")]);
        if let Some(own) = scan::scan(text, &WANTED).ok().and_then(|found| found.string(0)) {
            return match &*own {
                "sessions" => Heard::Own(Own::Sessions),
                "restart" if self.policy.read_only => Heard::Nothing,
                "restart" => Heard::Own(Own::Restart),
                "resumed" => self.resumed(seat),
                _ => Heard::Nothing,
            };
        }
        let frame = match strict::client_frame(self.spec, text) {
            Ok(frame) => frame,
            Err(error) => return self.unclear(seat, text, error),
        };
        if let Some(bytes) = frame.id.map(str::len).filter(|bytes| *bytes > LONGEST_ID) {
            let error = format!("its id has {bytes} bytes; send an id of {LONGEST_ID} bytes at most");
            return self.reject(seat, &error);
        }
        // Between members both are white space; some agents end a line at a carriage return, too.
        let line = text.replace(['\n', '\r'], " ");
        match frame.kind {
            StrictKind::Command(name) => self.command(seat, frame.id.map(str::to_owned), &name, line),
            StrictKind::Answer => self.answered(seat, frame.id, line, true),
            StrictKind::Progress => self.answered(seat, frame.id, line, false),
        }
    }

    fn command(&mut self, seat: Seat, id: Option<String>, command: &str, line: String) -> Heard {
        if let Some(reason) = self.policy.refuses(self.spec, command) {
            self.refuse(seat, id.as_deref(), command, &reason);
            return Heard::Nothing;
        }
        let Some(tab) = self.tabs.get_mut(seat) else { return Heard::Nothing };
        if id.as_ref().is_some_and(|id| tab.seen.has(id)) {
            return Heard::Nothing;
        }
        if self.calls.len() >= MOST_CALLS {
            let reason =
                format!("{MOST_CALLS} commands wait for their answers; send it again when some have come");
            self.refuse(seat, id.as_deref(), command, &reason);
            return Heard::Nothing;
        }
        if let Some(id) = &id {
            tab.seen.insert(id);
        }
        if self.agent.ended.is_some() {
            self.refuse(seat, id.as_deref(), command, "the agent does not run");
            return Heard::Nothing;
        }
        if let Some(session) = self.spec.session_member.and_then(|name| named_session(&line, name)) {
            self.session = Some(session);
        }
        self.active = Some(seat);
        self.commands += 1;
        let own = format!("\"{seat}.{}\"", self.commands);
        let line = match &id {
            Some(_) => splice::replaced(&line, "id", &own).unwrap_or(line),
            None => splice::inserted(&line, "id", &own),
        };
        let line = match self.written(command, line) {
            Ok(line) => line,
            Err(reason) => {
                self.refuse(seat, id.as_deref(), command, &reason);
                return Heard::Nothing;
            }
        };
        let row = self.spec.command(command);
        let is_answered = row.is_none_or(|row| row.answer != Answer::Never);
        if let Some(id) = id.as_ref().filter(|_| is_answered) {
            self.ids.insert(own.clone(), (seat, id.clone()));
        }
        let is_told = row.is_none_or(|row| row.access() != Access::Read);
        if is_told {
            if row.is_some_and(|row| row.run == RunRole::Starts) {
                self.asked_at = Some(self.tabs.log.end());
            }
            self.tell(seat, "sent", &line);
        }
        if is_answered {
            self.calls.insert(own, command, Caller { seat, id, is_told });
        }
        Heard::Line(line)
    }

    fn answered(&mut self, seat: Seat, id: Option<&str>, line: String, closes: bool) -> Heard {
        if let Err(error) = self.is_short_enough(&line) {
            return self.reject(seat, &error);
        }
        let answers = self.policy.answers();
        if !self.questions.take(id, answers && closes) {
            return Heard::Nothing;
        }
        if !answers {
            return self.reject(seat, "dialogs cannot be answered with --read-only");
        }
        if closes {
            self.withdraw(To::AllBut(seat), id.unwrap_or_default());
        }
        self.tell(seat, "sent", &line);
        self.active = Some(seat);
        Heard::Line(line)
    }

    fn withdraw(&mut self, to: To, id: &str) {
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        self.say(to, json!({"agentese": "withdrawn", "id": id}));
    }
}

#[path = "hub_told.rs"]
mod told;

#[path = "hub_lines.rs"]
mod lines;

#[path = "hub_life.rs"]
mod life;

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
