//! Conversion of an answer's tool calls back to the tools' own names.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;

use super::renames::Renames;
use crate::StreamEvent;

/// Replaces the names in the events of an answer by the tools' own names. If properties of a tool were renamed, its
/// arguments arrive in one event.
pub fn restore_names(
    events: BoxStream<'static, StreamEvent>,
    renames: Renames,
) -> BoxStream<'static, StreamEvent> {
    if renames.is_empty() {
        return events;
    }
    let mut restoring = CallRestorer { renames, open: None };
    events.flat_map(move |event| stream::iter(restoring.event(event))).boxed()
}

struct CallRestorer {
    renames: Renames,
    /// Name of the called tool, and the text so far of its arguments. `None` if the tool has no renamed properties.
    open: Option<(String, String)>,
}

impl CallRestorer {
    fn event(&mut self, event: StreamEvent) -> Vec<StreamEvent> {
        match event {
            StreamEvent::ToolCallStart { id, name } => {
                let own = self.renames.original_name(&name).to_owned();
                self.open = self.renames.properties.contains_key(&own).then(|| (own.clone(), String::new()));
                vec![StreamEvent::ToolCallStart { id, name: own }]
            }
            StreamEvent::ToolCallDelta(delta) => match &mut self.open {
                Some((_, text)) => {
                    text.push_str(&delta);
                    Vec::new()
                }
                None => vec![StreamEvent::ToolCallDelta(delta)],
            },
            StreamEvent::ToolCallEnd | StreamEvent::Done(_) | StreamEvent::Error(_) => {
                let whole =
                    self.open.take().map(|open| StreamEvent::ToolCallDelta(self.restore_arguments(open)));
                whole.into_iter().chain([event]).collect()
            }
            event => vec![event],
        }
    }

    /// Returns arguments with the tool's own names. A text that is not JSON stays unchanged and is rejected later.
    fn restore_arguments(&self, (own, text): (String, String)) -> String {
        match (self.renames.properties.get(&own), agentese::wire::decode::<Value>(&text)) {
            (Some(names), Ok(arguments)) => names.to_original(arguments).to_string(),
            _ => text,
        }
    }
}
