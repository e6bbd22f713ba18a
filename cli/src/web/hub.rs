//! Hub between one agent and several tabs, without I/O.
//!
//! Every tab numbers its own commands. The hub adds the number of the tab to their ids on the way to the
//! agent, and restores the ids in the responses. Events go to all tabs. A question also goes to all tabs. The
//! first answer applies, and the other tabs receive a withdrawal.

use std::collections::HashMap;
use std::time::Instant;

use agentese::chunks::Assembler;
use agentese::correlate::Table;
use agentese::revision::Known;
use agentese::scan::{self, Wanted, inner, member};
use agentese::spec::{Access, Answer, RunRole, Spec};
use agentese::strict::{self, StrictKind};
use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};

use super::access::Policy;
use super::log::{Common, Entry, KEPT, Kind, Seat, To};
use super::questions::{LONGEST_ID, Questions};
use super::splice;
use super::tabs::{Asked, Place, Tabs};

/// Limit of the earlier messages for a late tab, in bytes.
const REPEATED: usize = 4 * 1024 * 1024;
/// Limit of commands without a response.
const MOST_CALLS: usize = 16 * 1024;

/// Command without a response.
#[derive(Debug)]
struct Caller {
    seat: Seat,
    /// Raw id that the tab assigned.
    id: Option<String>,
    /// `true` if other tabs receive the command, because it has an effect.
    is_told: bool,
}

/// Result of a tab's line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Line for the agent.
    Line(String),
    /// Request to the server itself.
    Own(Own),
    /// No output for the agent.
    Nothing,
}

/// Request of a tab to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// List of sessions.
    Sessions,
    /// Restart of the agent.
    Restart,
}

/// Start position of a tab.
#[derive(Debug)]
pub(super) struct Joined {
    pub seat: Seat,
    /// Number of the next message.
    pub next: u64,
    /// First message for the tab.
    pub hello: Value,
}

/// Description of the agent for tabs.
#[derive(Debug, Clone, Default)]
pub(super) struct Agent {
    pub command: Vec<String>,
    pub cwd: String,
    /// Revision of the dialect, if known.
    pub revision: Option<&'static str>,
    /// Reason why the agent is not running.
    pub ended: Option<Value>,
}

/// Hub between one agent and its tabs.
#[derive(Debug)]
pub(super) struct Hub {
    spec: &'static Spec,
    policy: Policy,
    pub agent: Agent,
    /// Knowledge about the agent's revision, from its events.
    known: Known,
    pub tabs: Tabs,
    /// Tab with the latest input.
    active: Option<Seat>,
    /// Tab that reopens the session after a restart of the agent.
    resuming: Option<Seat>,
    commands: u64,
    calls: Table<Caller>,
    /// Raw ids of the calls at the agent, with the ids of the tabs.
    ids: HashMap<String, (Seat, String)>,
    questions: Questions,
    /// Answers to questions that the tabs did not receive.
    dismissals: Vec<String>,
    pieces: Assembler,
    /// Session of the latest frame, in dialects with several sessions per connection.
    session: Option<String>,
    running: bool,
    /// Number of the message at the start of the latest run.
    run_began: u64,
    /// Number of the message about the latest command that starts a run, until the run starts.
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

    /// Adds a tab, or reconnects it; see [`Tabs::join`].
    pub fn join(&mut self, tab: &Asked, now: Instant) -> Joined {
        let Place { seat, next, is_back } = self.tabs.join(&tab.name, tab.have, tab.all);
        let begun = if is_back { Common::default() } else { self.begun(tab.all) };
        Joined { seat, next, hello: self.hello(is_back, tab.have.is_some(), begun, now) }
    }

    /// Returns the earlier messages for a late tab. These are all messages if the tab requests them and they
    /// fit the limit, else the beginning and the latest messages of the current run.
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

    /// Returns the name of the dialect.
    pub fn dialect(&self) -> &'static str {
        self.spec.name
    }

    /// Removes and returns the lines for the agent that answer questions which no tab received.
    pub fn take_dismissals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.dismissals)
    }

    /// Returns `true` if no message has that number or a later one.
    pub fn is_read(&self, from: u64) -> bool {
        from >= self.tabs.log.end()
    }

    fn push(&mut self, to: To, text: impl Into<Utf8Bytes>) {
        self.tabs.push(Entry { to, text: text.into(), kind: Kind::Frame });
    }

    /// Sends a message to tabs that is not a frame of the agent.
    pub fn say(&mut self, to: To, what: Value) {
        self.tabs.push(Entry { to, text: what.to_string().into(), kind: Kind::Word });
    }

    /// Sends a line of a tab, or its response, to the other tabs.
    fn tell(&mut self, but: Seat, how: &str, line: &str) {
        let text = json!({"agentese": how, "line": line}).to_string().into();
        self.tabs.push(Entry { to: To::AllBut(but), text, kind: Kind::Told });
    }

    /// Processes a line of a tab. Rejects a line that readers could interpret differently.
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
        // Both are white space between members, and some agents end a line at a carriage return too.
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

/// Returns the session in the parameters of a command.
fn named_session(line: &str, name: &'static str) -> Option<String> {
    let wanted = Wanted::new([inner("params", name)]);
    scan::scan(line, &wanted).ok()?.string(0).filter(|id| !id.is_empty()).map(std::borrow::Cow::into_owned)
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
