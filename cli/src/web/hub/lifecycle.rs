//! End and restart of the agent, after which one tab reopens the session.

use agentese::chunks::Assembler;
use serde_json::json;

use super::super::message_log::{Recipients, TabId};
use super::{Hub, LineOutcome};

impl Hub {
    /// Handles the end of the agent, which `text` describes. `restarts` is `true` if the agent will be
    /// restarted.
    pub fn ended(&mut self, text: &str, stderr: &str, restarts: bool) {
        self.running = false;
        self.session = None;
        self.resuming = None;
        self.questions.clear();
        self.dismissals.clear();
        self.chunks = Assembler::default();
        self.ids.clear();
        self.calls.drain();
        let what = json!({"agentese": "ended", "text": text, "stderr": stderr, "restarts": restarts});
        self.agent.ended = Some(what.clone());
        self.send_message(Recipients::All, what);
    }

    /// Handles a restart of the agent. One page is requested to reopen the last session; the other tabs
    /// are notified when it is open.
    pub fn started(&mut self) {
        self.agent.ended = None;
        self.resuming = self.tabs.choose_page(self.active);
        let Some(chosen) = self.resuming else {
            return self.send_message(Recipients::All, json!({"agentese": "started", "resume": false}));
        };
        self.send_message(Recipients::One(chosen), json!({"agentese": "started", "resume": true}));
        self.send_message(Recipients::AllBut(chosen), json!({"agentese": "started", "resume": false}));
    }

    /// Handles the report of a page that it has reopened the session.
    pub(super) fn resumed(&mut self, tab_id: TabId) -> LineOutcome {
        if self.resuming == Some(tab_id) {
            self.resuming = None;
            self.send_message(Recipients::AllBut(tab_id), json!({"agentese": "resumed"}));
        }
        LineOutcome::Done
    }

    /// Disconnects a tab. If the tab had to reopen the session, another page is requested to do so.
    pub fn leave(&mut self, tab_id: TabId) {
        self.tabs.leave(tab_id);
        if self.resuming != Some(tab_id) || self.tabs.is_connected(tab_id) {
            return;
        }
        self.resuming = self.tabs.choose_page(None);
        if let Some(chosen) = self.resuming {
            self.send_message(Recipients::One(chosen), json!({"agentese": "started", "resume": true}));
        }
    }
}
