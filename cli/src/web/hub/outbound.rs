//! Lines of the agent, and their distribution to tabs.

use std::time::Instant;

use agentese::chunks::AssemblyResult;
use agentese::dialog::policy_frame;
use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::scan::{self, MemberSet, member};
use agentese::spec::{Chunks, RunEffect};
use axum::extract::ws::Utf8Bytes;
use serde_json::json;

use super::super::message_log::{Entry, MessageKind, Recipients};
use super::super::splice;
use super::Hub;

impl Hub {
    /// Processes a line of the agent.
    pub fn handle_agent_line(&mut self, line: &FrameText, now: Instant) {
        self.questions.expire(now);
        // Frames are redacted before the tabs, the log for late tabs, and the inspector receive them.
        let stripped = agentese::redact::strip_payload(line.as_str()).map(FrameText::from);
        let line = stripped.as_ref().unwrap_or(line);
        match route(self.spec, line) {
            Ok(RoutedFrame::Answer { id, command, .. }) => self.handle_response(line, id, command.as_deref()),
            Ok(RoutedFrame::Event { kind, body, .. }) => {
                self.known.event(&kind, body.as_ref().unwrap_or(line).as_str(), body.is_some());
                let body = body.as_ref().unwrap_or(line).as_str();
                if let Some(chunks) = self.spec.chunks.as_ref().filter(|chunks| *kind == *chunks.event) {
                    return self.handle_chunk(chunks, body, now);
                }
                let effect = kind.spec().map_or(RunEffect::None, |row| row.run).of(body);
                let snapshot = kind.spec().filter(|row| row.snapshot).map(|row| row.name);
                self.handle_event(line, effect, snapshot);
            }
            Ok(RoutedFrame::Dialog { id, method, params }) => {
                let row = self.spec.dialog(&method);
                let added = self.questions.add(line.as_str(), id.as_str(), row, params.as_str(), now);
                match added {
                    Ok(()) => self.push_frame(Recipients::All, line.as_str()),
                    Err(reason) => {
                        self.dismissals.extend(policy_frame(self.spec, id.as_str(), &method));
                        if let Some(error) = reason {
                            self.send_message(
                                Recipients::All,
                                json!({"agentese": "noise", "line": "", "error": error}),
                            );
                        }
                    }
                }
            }
            Err(reason) => {
                self.send_message(
                    Recipients::All,
                    json!({"agentese": "noise", "line": line.as_str(), "error": reason}),
                );
            }
        }
    }

    /// Processes one chunk of a frame that the agent splits over several lines. Tabs receive only
    /// complete frames.
    fn handle_chunk(&mut self, chunks: &Chunks, body: &str, now: Instant) {
        let AssemblyResult { completed: whole, error: fault } = self.chunks.take(chunks, body);
        if let Some(fault) = fault {
            self.send_message(Recipients::All, json!({"agentese": "noise", "line": "", "error": fault}));
        }
        if let Some(whole) = whole {
            self.handle_agent_line(&whole, now);
        }
    }

    fn handle_response(&mut self, line: &FrameText, id: Option<FrameText>, command: Option<&str>) {
        let catch_all = self.spec.edges.parse_command;
        let settled = match &id {
            Some(id) => self.calls.settle(id.as_str()),
            None => self.calls.attribute(command, catch_all, |_, _| false),
        };
        let Some(settled) = settled else {
            self.push_frame(Recipients::All, line.as_str());
            return;
        };
        self.ids.remove(&settled.id);
        let Some(caller) = settled.waiter else { return };
        if caller.is_mirrored {
            self.send_to_others(caller.tab_id, "told", line.as_str());
        }
        let text = match (caller.id, id) {
            (Some(own), Some(_)) => splice::replaced(line.as_str(), "id", &own),
            (None, Some(_)) => Some(splice::removed(line.as_str(), "id")),
            // A failure without an id, which some dialects send, is passed on unchanged.
            (_, None) => None,
        };
        let text = text.unwrap_or_else(|| line.as_str().to_owned());
        self.push_frame(Recipients::One(caller.tab_id), text);
    }

    fn handle_event(&mut self, line: &FrameText, effect: RunEffect, snapshot: Option<&'static str>) {
        match effect {
            RunEffect::Begins if !self.running => {
                (self.running, self.run_started_at) =
                    (true, self.run_requested_at.take().unwrap_or(self.tabs.log.end()))
            }
            RunEffect::Begins | RunEffect::Holds => self.running = true,
            RunEffect::MayEnd | RunEffect::Ends => self.running = false,
            _ => {}
        }
        const WANTED: MemberSet<1> = MemberSet::new([member("id")]);
        let id = if self.ids.is_empty() {
            None
        } else {
            scan::scan(line.as_str(), &WANTED).ok().and_then(|it| it.get(0).map(str::to_owned))
        };
        let owner = id.and_then(|id| self.ids.get(&id).cloned());
        let event =
            |to, text: Utf8Bytes| Entry { recipients: to, text, kind: MessageKind::Event { snapshot } };
        if let Some((tab_id, own)) = owner
            && let Some(text) = splice::replaced(line.as_str(), "id", &own)
        {
            self.tabs.push(event(Recipients::One(tab_id), text.into()));
            self.tabs.push(event(Recipients::AllBut(tab_id), line.as_str().into()));
            return;
        }
        self.tabs.push(event(Recipients::All, line.as_str().into()));
    }
}
