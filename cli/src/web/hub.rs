//! One agent and several tabs: who gets what, without I/O.
//!
//! Every tab counts its commands by itself. On their way to the agent the ids get the tab's number, and the answers go to
//! that tab with the ids that it gave. Events go to all tabs. A question goes to all of them too; the first answer counts,
//! and the others are told that it is withdrawn.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use agentese::correlate::Table;
use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::scan::{self, Wanted, member};
use agentese::spec::{Access, Framing, RunEffect, Spec};
use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};

use super::access::Policy;
use super::log::{Entry, KEPT, Log, Seat, To};
use super::splice;

/// How many tabs are remembered, those that went away among them.
const SEATS: usize = 64;

/// A tab.
#[derive(Debug, Default)]
struct Tab {
    /// The number of the first message that may be for it.
    joined: u64,
    /// How many messages for it are kept no longer.
    gone: u64,
    connections: u32,
    /// The raw ids of the commands that it sent.
    seen: HashSet<String>,
}

/// A command without an answer.
#[derive(Debug)]
struct Caller {
    seat: Seat,
    /// The raw id that the tab gave.
    id: Option<String>,
    /// Whether the others are told of it: it changes something.
    is_told: bool,
}

/// A question that nobody has answered.
#[derive(Debug)]
struct Question {
    id: String,
    text: Utf8Bytes,
    asked: Instant,
    expires: Option<Duration>,
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
    log: Log,
    tabs: HashMap<Seat, Tab>,
    names: HashMap<String, Seat>,
    last_seat: Seat,
    /// The tab that said something last.
    active: Option<Seat>,
    commands: u64,
    calls: Table<Caller>,
    /// The raw ids under which the agent knows the calls, and what the tabs call them.
    ids: HashMap<String, (Seat, String)>,
    questions: Vec<Question>,
    running: bool,
    /// The number of the message with which the newest run began.
    run_began: u64,
}

impl Hub {
    pub fn new(spec: &'static Spec, policy: Policy, agent: Agent) -> Self {
        Self {
            spec,
            policy,
            agent,
            log: Log::new(KEPT),
            tabs: HashMap::new(),
            names: HashMap::new(),
            last_seat: 0,
            active: None,
            commands: 0,
            calls: Table::new(),
            ids: HashMap::new(),
            questions: Vec::new(),
            running: false,
            run_began: 0,
        }
    }

    /// A tab comes, or comes back. `name` is what it calls itself, `have` how many messages it has got so far; without
    /// it, or where what it misses is not kept any longer, it begins anew.
    pub fn join(&mut self, name: &str, have: Option<u64>, now: Instant) -> Joined {
        let known = self.names.get(name).copied();
        let back = known.and_then(|seat| Some((seat, self.place(seat, have?)?)));
        if let Some((seat, next)) = back {
            if let Some(tab) = self.tabs.get_mut(&seat) {
                tab.connections += 1;
            }
            return Joined { seat, next, hello: self.hello(true, have.is_some(), Vec::new(), now) };
        }
        self.forget_one();
        self.last_seat += 1;
        let (seat, next) = (self.last_seat, self.log.end());
        self.tabs.insert(seat, Tab { joined: next, connections: 1, ..Tab::default() });
        self.names.insert(name.to_owned(), seat);
        let begun = if self.running { self.log.events(self.run_began) } else { Vec::new() };
        Joined { seat, next, hello: self.hello(false, have.is_some(), begun, now) }
    }

    /// The number of the first message for a tab that it has not got; none where it is not kept.
    fn place(&self, seat: Seat, have: u64) -> Option<u64> {
        let tab = self.tabs.get(&seat)?;
        let left = have.checked_sub(tab.gone)?;
        let mut mine = self.log.from(tab.joined).filter(|(_, entry)| entry.to.includes(seat));
        match left.checked_sub(1) {
            None => Some(tab.joined.max(self.log.first())),
            Some(last) => Some(mine.nth(usize::try_from(last).ok()?)?.0 + 1),
        }
    }

    fn hello(&self, back: bool, asked: bool, begun: Vec<Utf8Bytes>, now: Instant) -> Value {
        let questions: Vec<_> = if back { &[][..] } else { &self.questions[..] }
            .iter()
            .map(|question| {
                let ago = now.duration_since(question.asked).as_millis() as u64;
                json!({"line": question.text.as_str(), "ago": ago})
            })
            .collect();
        let begun: Vec<_> = begun.iter().map(Utf8Bytes::as_str).collect();
        json!({
            "agentese": "hello", "version": env!("CARGO_PKG_VERSION"), "back": back, "lost": asked && !back,
            "dialect": self.spec.name, "revision": self.agent.revision, "command": self.agent.command, "cwd": self.agent.cwd,
            "ended": self.agent.ended, "running": self.running,
            "readOnly": self.policy.read_only, "deny": self.policy.deny,
            "begun": begun, "questions": questions,
        })
    }

    /// The tab that is away and came first is forgotten where there are too many.
    fn forget_one(&mut self) {
        if self.tabs.len() < SEATS {
            return;
        }
        let away = self.tabs.iter().filter(|(_, tab)| tab.connections == 0).map(|(seat, _)| *seat).min();
        if let Some(seat) = away {
            self.tabs.remove(&seat);
            self.names.retain(|_, known| *known != seat);
        }
    }

    /// A tab's connection is over.
    pub fn leave(&mut self, seat: Seat) {
        if let Some(tab) = self.tabs.get_mut(&seat) {
            tab.connections = tab.connections.saturating_sub(1);
        }
    }

    /// The messages for a tab from a number on, and the number behind them. None where some of them are lost.
    pub fn read(&self, seat: Seat, from: u64, limit: usize) -> Option<(Vec<Utf8Bytes>, u64)> {
        if from < self.log.first() {
            return None;
        }
        let (mut texts, mut bytes, mut next) = (Vec::new(), 0, from);
        for (number, entry) in self.log.from(from) {
            if bytes > limit {
                break;
            }
            next = number + 1;
            if entry.to.includes(seat) {
                bytes += entry.text.len();
                texts.push(entry.text.clone());
            }
        }
        Some((texts, next))
    }

    /// Whether there is nothing from that number on.
    pub fn is_read(&self, from: u64) -> bool {
        from >= self.log.end()
    }

    fn push(&mut self, to: To, text: impl Into<Utf8Bytes>) {
        self.push_entry(Entry { to, text: text.into(), snapshot: None, event: false });
    }

    fn push_entry(&mut self, entry: Entry) {
        let tabs = &mut self.tabs;
        self.log.push(entry, |number, dropped| {
            for (seat, tab) in tabs.iter_mut() {
                tab.gone += u64::from(number >= tab.joined && dropped.to.includes(*seat));
            }
        });
    }

    /// Tells tabs something that is no frame of the agent.
    pub fn say(&mut self, to: To, what: Value) {
        self.push(to, what.to_string());
    }

    /// A line of a tab.
    pub fn heard(&mut self, seat: Seat, text: &str) -> Heard {
        const WANTED: Wanted<4> =
            Wanted::new([member("agentese"), member("id"), member("type"), member("method")]);
        let Ok(found) = scan::scan(text, &WANTED) else {
            self.say(
                To::One(seat),
                json!({"agentese": "refused", "error": "the message is not a JSON object"}),
            );
            return Heard::Nothing;
        };
        if let Some(own) = found.string(0) {
            return match &*own {
                "sessions" => Heard::Own(Own::Sessions),
                "restart" if self.policy.read_only => Heard::Nothing,
                "restart" => Heard::Own(Own::Restart),
                _ => Heard::Nothing,
            };
        }
        let id = found.get(1).map(str::to_owned);
        let is_rpc = matches!(self.spec.framing, Framing::JsonRpc { .. });
        let name = found.string(if is_rpc { 3 } else { 2 });
        let answers = match (&name, self.spec.dialog_frames) {
            (None, None) => true,
            (Some(name), Some(frames)) => *name == frames.answer,
            _ => false,
        };
        let line = text.replace('\n', " ");
        if answers {
            return self.answered(seat, id.as_deref(), line);
        }
        let command = name.map(std::borrow::Cow::into_owned).unwrap_or_default();
        self.command(seat, id, &command, line)
    }

    fn command(&mut self, seat: Seat, id: Option<String>, command: &str, line: String) -> Heard {
        let Some(tab) = self.tabs.get_mut(&seat) else { return Heard::Nothing };
        if let Some(id) = &id
            && !tab.seen.insert(id.clone())
        {
            return Heard::Nothing;
        }
        if let Some(reason) = self.policy.refuses(self.spec, command) {
            self.refuse(seat, id.as_deref(), command, &reason);
            return Heard::Nothing;
        }
        if self.agent.ended.is_some() {
            self.refuse(seat, id.as_deref(), command, "the agent does not run");
            return Heard::Nothing;
        }
        self.active = Some(seat);
        self.commands += 1;
        let own = format!("\"{seat}.{}\"", self.commands);
        let line = match &id {
            Some(_) => splice::replaced(&line, "id", &own).unwrap_or(line),
            None => splice::inserted(&line, "id", &own),
        };
        if let Some(id) = &id {
            self.ids.insert(own.clone(), (seat, id.clone()));
        }
        let is_told = self.spec.command(command).is_none_or(|row| row.access() != Access::Read);
        if is_told {
            self.say(To::AllBut(seat), json!({"agentese": "sent", "line": line}));
        }
        self.calls.insert(own, command, Caller { seat, id, is_told });
        Heard::Line(line)
    }

    fn refuse(&mut self, seat: Seat, id: Option<&str>, command: &str, reason: &str) {
        let reason = json!(reason);
        let text = match self.spec.framing {
            Framing::JsonRpc { .. } => {
                let id = id.unwrap_or("null");
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":{reason}}}}}"#)
            }
            _ => {
                let id = id.map(|id| format!(r#""id":{id},"#)).unwrap_or_default();
                let command = json!(command);
                format!(r#"{{{id}"type":"response","command":{command},"success":false,"error":{reason}}}"#)
            }
        };
        self.push(To::One(seat), text);
    }

    fn answered(&mut self, seat: Seat, id: Option<&str>, line: String) -> Heard {
        let open = self.questions.iter().position(|question| Some(question.id.as_str()) == id);
        let Some(open) = open else { return Heard::Nothing };
        if !self.policy.answers() {
            self.say(
                To::One(seat),
                json!({"agentese": "refused", "error": "dialogs cannot be answered with --read-only"}),
            );
            return Heard::Nothing;
        }
        let question = self.questions.remove(open);
        self.withdraw(To::AllBut(seat), &question.id);
        self.say(To::AllBut(seat), json!({"agentese": "sent", "line": line}));
        self.active = Some(seat);
        Heard::Line(line)
    }

    fn withdraw(&mut self, to: To, id: &str) {
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        self.say(to, json!({"agentese": "withdrawn", "id": id}));
    }

    /// A line of the agent.
    pub fn told(&mut self, line: &FrameText, now: Instant) {
        self.questions.retain(|question| {
            question.expires.is_none_or(|limit| now.duration_since(question.asked) < limit)
        });
        match route(self.spec, line) {
            Ok(Routed::Answer { id, command, .. }) => self.answer(line, id, command.as_deref()),
            Ok(Routed::Event { kind, .. }) => {
                let effect = kind.spec().map_or(RunEffect::None, |row| row.run);
                let snapshot = kind.spec().filter(|row| row.snapshot).map(|row| row.name);
                self.event(line, effect, snapshot);
            }
            Ok(Routed::Dialog { id, method, params }) => {
                self.asked(line, id.as_str(), &method, params.as_str(), now)
            }
            Err(reason) => {
                self.say(To::All, json!({"agentese": "noise", "line": line.as_str(), "error": reason}));
            }
        }
    }

    fn answer(&mut self, line: &FrameText, id: Option<FrameText>, command: Option<&str>) {
        let catch_all = self.spec.edges.parse_command;
        let settled = match &id {
            Some(id) => self.calls.settle(id.as_str()),
            None => self.calls.attribute(command, catch_all, |_, _| false),
        };
        let Some(settled) = settled else {
            self.push(To::All, line.as_str());
            return;
        };
        self.ids.remove(&settled.id);
        let Some(caller) = settled.waiter else { return };
        if caller.is_told {
            self.say(To::AllBut(caller.seat), json!({"agentese": "told", "line": line.as_str()}));
        }
        let text = match (caller.id, id) {
            (Some(own), Some(_)) => splice::replaced(line.as_str(), "id", &own),
            (None, Some(_)) => Some(splice::removed(line.as_str(), "id")),
            // A failure without an id: the dialect has it so.
            (_, None) => None,
        };
        let text = text.unwrap_or_else(|| line.as_str().to_owned());
        self.push(To::One(caller.seat), text);
    }

    fn event(&mut self, line: &FrameText, effect: RunEffect, snapshot: Option<&'static str>) {
        match effect {
            RunEffect::Begins if !self.running => (self.running, self.run_began) = (true, self.log.end()),
            RunEffect::Begins | RunEffect::Holds | RunEffect::HoldsIf(_) => self.running = true,
            RunEffect::MayEnd | RunEffect::MayEndUnless(_) | RunEffect::MayEndIf(_) | RunEffect::Ends => {
                self.running = false;
            }
            RunEffect::None => {}
        }
        const WANTED: Wanted<1> = Wanted::new([member("id")]);
        let id = if self.ids.is_empty() {
            None
        } else {
            scan::scan(line.as_str(), &WANTED).ok().and_then(|it| it.get(0).map(str::to_owned))
        };
        let owner = id.and_then(|id| self.ids.get(&id).cloned());
        let event = |to, text: Utf8Bytes| Entry { to, text, snapshot, event: true };
        if let Some((seat, own)) = owner
            && let Some(text) = splice::replaced(line.as_str(), "id", &own)
        {
            self.push_entry(event(To::One(seat), text.into()));
            self.push_entry(event(To::AllBut(seat), line.as_str().into()));
            return;
        }
        self.push_entry(event(To::All, line.as_str().into()));
    }

    fn asked(&mut self, line: &FrameText, id: &str, method: &str, params: &str, now: Instant) {
        let row = self.spec.dialog(method);
        let named = |name: &'static str| {
            let wanted = Wanted::new([member(name)]);
            scan::scan(params, &wanted).ok().and_then(|found| found.get(0).map(str::to_owned))
        };
        if let Some(taken_back) = row.and_then(|row| row.withdraws).and_then(named) {
            self.questions.retain(|question| question.id != taken_back);
        }
        if row.is_none_or(|row| row.answered) {
            let expires = row.and_then(|row| row.expires).and_then(named);
            let expires = expires.and_then(|text| text.parse().ok()).map(Duration::from_millis);
            let text = Utf8Bytes::from(line.as_str());
            self.questions.push(Question { id: id.to_owned(), text, asked: now, expires });
        }
        self.push(To::All, line.as_str());
    }

    /// The agent has ended; `text` says how.
    pub fn ended(&mut self, text: &str, stderr: &str, restarts: bool) {
        self.running = false;
        self.questions.clear();
        self.ids.clear();
        self.calls.drain();
        let what = json!({"agentese": "ended", "text": text, "stderr": stderr, "restarts": restarts});
        self.agent.ended = Some(what.clone());
        self.say(To::All, what);
    }

    /// The agent was started again. One tab is told to open the session that was open before.
    pub fn started(&mut self) {
        self.agent.ended = None;
        let here = |seat: &Seat| self.tabs.get(seat).is_some_and(|tab| tab.connections > 0);
        let chosen = self.active.filter(here).or_else(|| self.tabs.keys().copied().filter(here).min());
        let Some(chosen) = chosen else {
            return self.say(To::All, json!({"agentese": "started", "resume": false}));
        };
        self.say(To::One(chosen), json!({"agentese": "started", "resume": true}));
        self.say(To::AllBut(chosen), json!({"agentese": "started", "resume": false}));
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
