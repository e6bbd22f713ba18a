//! End and restart of the agent, and the tab that reopens its session.

use agentese::chunks::Assembler;
use serde_json::json;

use super::super::log::{Seat, To};
use super::{Heard, Hub};

impl Hub {
    /// Processes the end of the agent; `text` describes it.
    pub fn ended(&mut self, text: &str, stderr: &str, restarts: bool) {
        self.running = false;
        self.session = None;
        self.resuming = None;
        self.questions.clear();
        self.dismissals.clear();
        self.pieces = Assembler::default();
        self.ids.clear();
        self.calls.drain();
        let what = json!({"agentese": "ended", "text": text, "stderr": stderr, "restarts": restarts});
        self.agent.ended = Some(what.clone());
        self.say(To::All, what);
    }

    /// Processes a restart of the agent. One page must reopen the last session, and the others are notified
    /// afterwards.
    pub fn started(&mut self) {
        self.agent.ended = None;
        self.resuming = self.tabs.choose(self.active);
        let Some(chosen) = self.resuming else {
            return self.say(To::All, json!({"agentese": "started", "resume": false}));
        };
        self.say(To::One(chosen), json!({"agentese": "started", "resume": true}));
        self.say(To::AllBut(chosen), json!({"agentese": "started", "resume": false}));
    }

    /// Processes the notification of a page that the session is open again.
    pub(super) fn resumed(&mut self, seat: Seat) -> Heard {
        if self.resuming == Some(seat) {
            self.resuming = None;
            self.say(To::AllBut(seat), json!({"agentese": "resumed"}));
        }
        Heard::Nothing
    }

    /// Disconnects a tab. If that tab had to reopen the session, another page takes over.
    pub fn leave(&mut self, seat: Seat) {
        self.tabs.leave(seat);
        if self.resuming != Some(seat) || self.tabs.is_here(seat) {
            return;
        }
        self.resuming = self.tabs.choose(None);
        if let Some(chosen) = self.resuming {
            self.say(To::One(chosen), json!({"agentese": "started", "resume": true}));
        }
    }
}
