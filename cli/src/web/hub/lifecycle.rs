//! End and restart of the agent, and the tab that reopens its session.

use agentese::chunks::Assembler;
use serde_json::json;

use super::super::message_log::{Recipients, TabId};
use super::{Hub, LineOutcome};

impl Hub {
    /// Processes the end of the agent; `text` describes it.
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

    /// Processes a restart of the agent. One page must reopen the last session, and the others are notified
    /// afterwards.
    pub fn started(&mut self) {
        self.agent.ended = None;
        self.resuming = self.tabs.choose_page(self.active);
        let Some(chosen) = self.resuming else {
            return self.send_message(Recipients::All, json!({"agentese": "started", "resume": false}));
        };
        self.send_message(Recipients::One(chosen), json!({"agentese": "started", "resume": true}));
        self.send_message(Recipients::AllBut(chosen), json!({"agentese": "started", "resume": false}));
    }

    /// Processes the notification of a page that the session is open again.
    pub(super) fn resumed(&mut self, tab_id: TabId) -> LineOutcome {
        if self.resuming == Some(tab_id) {
            self.resuming = None;
            self.send_message(Recipients::AllBut(tab_id), json!({"agentese": "resumed"}));
        }
        LineOutcome::Done
    }

    /// Disconnects a tab. If that tab had to reopen the session, another page takes over.
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
