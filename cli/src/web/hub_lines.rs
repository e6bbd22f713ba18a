//! What tabs send, as the agent's revision has it and reads it; and what they are told where it is not sent.

use agentese::renames;
use agentese::scan::{self, Wanted, inner};
use agentese::spec::Framing;
use serde_json::json;

use super::super::log::{Seat, To};
use super::Hub;

impl Hub {
    /// The line of a command, with the names that its parameters have in the agent's revision.
    ///
    /// # Errors
    /// Says why it is not sent.
    pub(super) fn written(&self, command: &str, line: String) -> Result<String, String> {
        let line = renames::line(self.spec, self.known.revision(), command, &line).into_owned();
        self.is_short_enough(&line)?;
        Ok(line)
    }

    /// Whether the agent reads a line that long; one that is longer may end it.
    pub(super) fn is_short_enough(&self, line: &str) -> Result<(), String> {
        let revision = self.known.revision().unwrap_or(self.spec);
        match revision.edges.longest_command {
            Some(most) if line.len() as u64 > most => {
                let (bytes, id) = (line.len(), revision.id());
                Err(format!("it was not sent: its line has {bytes} bytes, and {id} reads {most} at most"))
            }
            _ => Ok(()),
        }
    }

    /// Answers a command in the agent's place.
    pub(super) fn refuse(&mut self, seat: Seat, id: Option<&str>, command: &str, reason: &str) {
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
}

/// The session that the parameters of a command name.
pub(super) fn named_session(line: &str, name: &'static str) -> Option<String> {
    let wanted = Wanted::new([inner("params", name)]);
    scan::scan(line, &wanted).ok()?.string(0).filter(|id| !id.is_empty()).map(std::borrow::Cow::into_owned)
}
