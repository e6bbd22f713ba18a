//! End and restart of the agent, and the tab that reopens its session.

use agentese::chunks::Assembler;
use serde_json::json;

use super::super::message_log::{Recipients, TabId};
use super::{Hub, LineOutcome};

impl Hub {
    /// Processes the end of the agent, which `text` describes. `restarts` is `true` if the agent will be
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

    /// Processes a restart of the agent. Requests one page to reopen the last session. The other tabs are
    /// notified when it is open.
    pub fn started(&mut self) {
        self.agent.ended = None;
        self.resuming = self.tabs.choose_page(self.active);
        let Some(chosen) = self.resuming else {
            return self.send_message(Recipients::All, json!({"agentese": "started", "resume": false}));
        };
        self.send_message(Recipients::One(chosen), json!({"agentese": "started", "resume": true}));
        self.send_message(Recipients::AllBut(chosen), json!({"agentese": "started", "resume": false}));
    }

    /// Processes the report of a page that it has reopened the session.
    pub(super) fn resumed(&mut self, tab_id: TabId) -> LineOutcome {
        if self.resuming == Some(tab_id) {
            self.resuming = None;
            self.send_message(Recipients::AllBut(tab_id), json!({"agentese": "resumed"}));
        }
        LineOutcome::Done
    }

    /// Disconnects a tab. If this tab had to reopen the session, another page must do so.
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
