//! Hub between one agent and several tabs, without I/O.
//!
//! Tabs choose the ids of their commands independently. The hub adds the number of the tab to each id on the
//! way to the agent, and restores the id in the response. Events go to all tabs. A question also goes to all
//! tabs. The first answer goes to the agent. The other tabs then receive a withdrawal of the question.

use std::collections::HashMap;
use std::time::Instant;

use agentese::chunks::Assembler;
use agentese::correlate::PendingCalls;
use agentese::revision_detector::RevisionDetector;
use agentese::scan::{self, MemberSet, inner, member};
use agentese::spec::{Access, AnswerTiming, RunRole, Spec};
use agentese::strict::{self, StrictKind};
use axum::extract::ws::Utf8Bytes;
use serde_json::{Value, json};

use super::command_permissions::AccessPolicy;
use super::message_log::{Entry, MAX_LOG_BYTES, MessageKind, Recipients, TabHistory, TabId};
use super::questions::{LONGEST_ID, Questions};
use super::splice;
use super::tabs::{TabPosition, TabQuery, Tabs};

/// Limit in bytes of the earlier messages for a tab that connects during a run.
const MAX_HISTORY_BYTES: usize = 4 * 1024 * 1024;
/// Limit of commands without a response.
const MAX_PENDING_COMMANDS: usize = 16 * 1024;

/// Command without a response.
#[derive(Debug)]
struct PendingCommand {
    tab_id: TabId,
    /// Id that the tab assigned, as raw JSON; `None` without an id.
    id: Option<String>,
    /// `true` if the command is also sent to the other tabs, because it changes something.
    is_mirrored: bool,
}

/// Action that the caller must take for a line of a tab.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineOutcome {
    /// Send this line to the agent.
    Forward(String),
    /// Carry out this request in the server.
    Request(ServerRequest),
    /// No action is necessary.
    Done,
}

/// Request of a tab to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerRequest {
    /// Request for the list of sessions.
    Sessions,
    /// Request to restart the agent.
    Restart,
}

/// State that a tab receives when it connects.
#[derive(Debug)]
pub(super) struct JoinedTab {
    pub tab_id: TabId,
    /// Number of the first message after the greeting.
    pub next: u64,
    /// Greeting with the current state.
    pub hello: Value,
}

/// Description of the agent for tabs.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentInfo {
    pub command: Vec<String>,
    pub cwd: String,
    /// Revision of the dialect, if known.
    pub revision: Option<&'static str>,
    /// `true` if a bridge is in front of the agent, so that its sessions are not the stored ones of the dialect.
    pub is_bridged: bool,
    /// Description of the agent's end; `None` while it runs.
    pub ended: Option<Value>,
}

/// Hub between one agent and its tabs.
#[derive(Debug)]
pub(super) struct Hub {
    spec: &'static Spec,
    policy: AccessPolicy,
    pub agent: AgentInfo,
    /// Detector of the agent's revision.
    known: RevisionDetector,
    pub tabs: Tabs,
    /// Tab with the latest input.
    active: Option<TabId>,
    /// Tab that must reopen the session after a restart of the agent.
    resuming: Option<TabId>,
    commands: u64,
    calls: PendingCalls<PendingCommand>,
    /// Commands at the agent: the tab and the id that the tab assigned, by the id that the agent received, as
    /// raw JSON.
    ids: HashMap<String, (TabId, String)>,
    questions: Questions,
    /// Answers of the server itself to questions that were not sent to the tabs.
    dismissals: Vec<String>,
    chunks: Assembler,
    /// Session in the latest frame, for dialects with several sessions per connection.
    session: Option<String>,
    running: bool,
    /// Number of the message that started the latest run.
    run_started_at: u64,
    /// Number of the message with the latest command that requests a run; `None` after the run has started.
    run_requested_at: Option<u64>,
}

impl Hub {
    pub fn new(spec: &'static Spec, policy: AccessPolicy, agent: AgentInfo) -> Self {
        let named = spec.revisions.iter().copied().find(|spec| agent.revision == Some(spec.revision));
        Self {
            spec,
            policy,
            agent,
            known: RevisionDetector::new(spec, named),
            tabs: Tabs::new(MAX_LOG_BYTES),
            active: None,
            resuming: None,
            commands: 0,
            calls: PendingCalls::new(),
            ids: HashMap::new(),
            questions: Questions::default(),
            dismissals: Vec::new(),
            chunks: Assembler::default(),
            session: None,
            running: false,
            run_started_at: 0,
            run_requested_at: None,
        }
    }

    /// Adds a tab, or reconnects it; see [`Tabs::join`].
    pub fn join(&mut self, tab: &TabQuery, now: Instant) -> JoinedTab {
        let TabPosition { tab_id, next, is_resumed: is_back } = self.tabs.join(&tab.name, tab.have, tab.all);
        let history = if is_back { TabHistory::default() } else { self.earlier_messages(tab.all) };
        JoinedTab { tab_id, next, hello: self.hello(is_back, tab.have.is_some(), history, now) }
    }

    /// Returns the earlier messages for a tab that connects late. If the tab requests all messages, returns
    /// all of them if they fit the limit. Otherwise returns the beginning and the latest messages of the
    /// current run.
    fn earlier_messages(&self, all: bool) -> TabHistory {
        let log = &self.tabs.log;
        if all && log.first() == 0 {
            let whole = log.history(0, false, usize::MAX);
            if whole.messages.iter().map(|text| text.len()).sum::<usize>() <= MAX_HISTORY_BYTES {
                return whole;
            }
        }
        if self.running {
            log.history(self.run_started_at, !all, MAX_HISTORY_BYTES)
        } else {
            TabHistory::default()
        }
    }

    fn hello(&self, back: bool, reconnects: bool, history: TabHistory, now: Instant) -> Value {
        let (questions, unshown) = if back { (Vec::new(), 0) } else { self.questions.snapshot(now) };
        let (messages, cut) = (&history.messages, history.is_cut);
        let messages: Vec<_> = messages.iter().map(Utf8Bytes::as_str).collect();
        json!({
            "agentese": "hello", "version": env!("CARGO_PKG_VERSION"), "back": back, "lost": reconnects && !back,
            "dialect": self.spec.name, "revision": self.agent.revision, "command": self.agent.command, "cwd": self.agent.cwd,
            "ended": self.agent.ended, "running": self.running, "session": self.session,
            "readOnly": self.policy.read_only, "deny": self.policy.deny,
            "begun": messages, "cut": cut, "questions": questions, "unshown": unshown,
        })
    }

    /// Returns the name of the dialect.
    pub fn dialect(&self) -> &'static str {
        self.spec.name
    }

    /// Removes and returns the server's own answers to questions that were not sent to the tabs.
    pub fn take_dismissals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.dismissals)
    }

    /// Returns `true` if the log has no message with this number or a later one.
    pub fn is_read(&self, from: u64) -> bool {
        from >= self.tabs.log.end()
    }

    fn push_frame(&mut self, to: Recipients, text: impl Into<Utf8Bytes>) {
        self.tabs.push(Entry { recipients: to, text: text.into(), kind: MessageKind::Frame });
    }

    /// Sends a message of the server itself to tabs.
    pub fn send_message(&mut self, to: Recipients, what: Value) {
        self.tabs.push(Entry { recipients: to, text: what.to_string().into(), kind: MessageKind::Server });
    }

    /// Sends a copy of a tab's line, or of its response, to the other tabs.
    fn send_to_others(&mut self, but: TabId, how: &str, line: &str) {
        let text = json!({"agentese": how, "line": line}).to_string().into();
        self.tabs.push(Entry { recipients: Recipients::AllBut(but), text, kind: MessageKind::Mirrored });
    }

    /// Processes a line of a tab. Rejects an ambiguous line, which two JSON parsers could interpret
    /// differently.
    pub fn handle_tab_line(&mut self, tab_id: TabId, text: &str) -> LineOutcome {
        const WANTED: MemberSet<1> = MemberSet::new([member("agentese")]);
        if let Some(request) = scan::scan(text, &WANTED).ok().and_then(|found| found.string(0)) {
            return match &*request {
                "sessions" => LineOutcome::Request(ServerRequest::Sessions),
                "restart" if self.policy.read_only => LineOutcome::Done,
                "restart" => LineOutcome::Request(ServerRequest::Restart),
                "resumed" => self.resumed(tab_id),
                _ => LineOutcome::Done,
            };
        }
        let frame = match strict::client_frame(self.spec, text) {
            Ok(frame) => frame,
            Err(error) => return self.reject_ambiguous(tab_id, text, error),
        };
        if let Some(bytes) = frame.id.map(str::len).filter(|bytes| *bytes > LONGEST_ID) {
            let error = format!("the id has {bytes} bytes; the limit is {LONGEST_ID} bytes");
            return self.reject(tab_id, &error);
        }
        // Both characters are white space between JSON tokens. Some agents also end a line at a carriage
        // return.
        let line = text.replace(['\n', '\r'], " ");
        match frame.kind {
            StrictKind::Command(name) => {
                self.handle_command(tab_id, frame.id.map(str::to_owned), &name, line)
            }
            StrictKind::Answer => self.handle_answer(tab_id, frame.id, line, true),
            StrictKind::Progress => self.handle_answer(tab_id, frame.id, line, false),
        }
    }

    fn handle_command(
        &mut self,
        tab_id: TabId,
        id: Option<String>,
        command: &str,
        line: String,
    ) -> LineOutcome {
        if let Some(reason) = self.policy.denial_reason(self.spec, command) {
            self.respond_error(tab_id, id.as_deref(), command, &reason);
            return LineOutcome::Done;
        }
        let Some(tab) = self.tabs.get_mut(tab_id) else { return LineOutcome::Done };
        if id.as_ref().is_some_and(|id| tab.recent_ids.contains(id)) {
            return LineOutcome::Done;
        }
        if self.calls.len() >= MAX_PENDING_COMMANDS {
            let reason = format!(
                "{MAX_PENDING_COMMANDS} commands await responses; retry after some have been answered"
            );
            self.respond_error(tab_id, id.as_deref(), command, &reason);
            return LineOutcome::Done;
        }
        if let Some(id) = &id {
            tab.recent_ids.insert(id);
        }
        if self.agent.ended.is_some() {
            self.respond_error(tab_id, id.as_deref(), command, "the agent is not running");
            return LineOutcome::Done;
        }
        if let Some(session) = self.spec.session_member.and_then(|name| named_session(&line, name)) {
            self.session = Some(session);
        }
        self.active = Some(tab_id);
        self.commands += 1;
        let own = format!("\"{tab_id}.{}\"", self.commands);
        let line = match &id {
            Some(_) => splice::replaced(&line, "id", &own).unwrap_or(line),
            None => splice::inserted(&line, "id", &own),
        };
        let line = match self.with_revision_names(command, line) {
            Ok(line) => line,
            Err(reason) => {
                self.respond_error(tab_id, id.as_deref(), command, &reason);
                return LineOutcome::Done;
            }
        };
        let row = self.spec.command(command);
        let is_answered = row.is_none_or(|row| row.answer != AnswerTiming::Never);
        if let Some(id) = id.as_ref().filter(|_| is_answered) {
            self.ids.insert(own.clone(), (tab_id, id.clone()));
        }
        let is_mirrored = row.is_none_or(|row| row.access() != Access::Read);
        if is_mirrored {
            if row.is_some_and(|row| row.run == RunRole::Starts) {
                self.run_requested_at = Some(self.tabs.log.end());
            }
            self.send_to_others(tab_id, "sent", &line);
        }
        if is_answered {
            self.calls.insert(own, command, PendingCommand { tab_id, id, is_mirrored });
        }
        LineOutcome::Forward(line)
    }

    fn handle_answer(&mut self, tab_id: TabId, id: Option<&str>, line: String, closes: bool) -> LineOutcome {
        if let Err(error) = self.check_length(&line) {
            return self.reject(tab_id, &error);
        }
        let answers = self.policy.allows_answers();
        if !self.questions.take(id, answers && closes) {
            return LineOutcome::Done;
        }
        if !answers {
            return self.reject(tab_id, "dialogs cannot be answered with --read-only");
        }
        if closes {
            self.withdraw(Recipients::AllBut(tab_id), id.unwrap_or_default());
        }
        self.send_to_others(tab_id, "sent", &line);
        self.active = Some(tab_id);
        LineOutcome::Forward(line)
    }

    fn withdraw(&mut self, to: Recipients, id: &str) {
        let id: Value = serde_json::from_str(id).unwrap_or_default();
        self.send_message(to, json!({"agentese": "withdrawn", "id": id}));
    }
}

/// Returns the session that the parameters of a command name.
fn named_session(line: &str, name: &'static str) -> Option<String> {
    let wanted = MemberSet::new([inner("params", name)]);
    scan::scan(line, &wanted).ok()?.string(0).filter(|id| !id.is_empty()).map(std::borrow::Cow::into_owned)
}

mod outbound;

mod inbound;

mod lifecycle;

#[cfg(test)]
mod tests;
