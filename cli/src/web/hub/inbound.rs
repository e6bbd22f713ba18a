//! Lines of tabs. Their parameters are renamed for the agent's revision, or the line is rejected.

use agentese::renames;
use agentese::spec::Framing;
use agentese::strict::{self, StrictError};
use serde_json::json;

use super::super::message_log::{Recipients, TabId};
use super::super::questions::LONGEST_ID;
use super::{Hub, LineOutcome};

impl Hub {
    /// Gives the parameters in a command's line the names of the agent's revision.
    ///
    /// # Errors
    /// Returns the reason if the line is rejected.
    pub(super) fn with_revision_names(&self, command: &str, line: String) -> Result<String, String> {
        let line = renames::line(self.spec, self.known.revision(), command, &line).into_owned();
        self.check_length(&line)?;
        Ok(line)
    }

    /// Checks the length of a line, because an agent may end if a line is too long.
    pub(super) fn check_length(&self, line: &str) -> Result<(), String> {
        let revision = self.known.revision().unwrap_or(self.spec);
        match revision.edges.longest_command {
            Some(most) if line.len() as u64 > most => {
                let (bytes, id) = (line.len(), revision.id());
                Err(format!("not sent: the line has {bytes} bytes; the limit of {id} is {most} bytes"))
            }
            _ => Ok(()),
        }
    }

    /// Notifies a tab that its line was not sent.
    pub(super) fn reject(&mut self, tab_id: TabId, error: &str) -> LineOutcome {
        self.send_message(Recipients::One(tab_id), json!({"agentese": "refused", "error": error}));
        LineOutcome::Done
    }

    /// Rejects a line that JSON parsers could interpret differently. If the line has an unambiguous id, the
    /// rejection is a response to a command.
    pub(super) fn reject_ambiguous(&mut self, tab_id: TabId, text: &str, error: StrictError) -> LineOutcome {
        let id = strict::rejected_id(self.spec, text).filter(|id| id.len() <= LONGEST_ID);
        let Some(id) = id else { return self.reject(tab_id, &error.to_string()) };
        self.respond_error(tab_id, Some(id), self.spec.edges.parse_command, &error.to_string());
        LineOutcome::Done
    }

    /// Answers a command in place of the agent.
    pub(super) fn respond_error(&mut self, tab_id: TabId, id: Option<&str>, command: &str, reason: &str) {
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
        self.push_frame(Recipients::One(tab_id), text);
    }
}
