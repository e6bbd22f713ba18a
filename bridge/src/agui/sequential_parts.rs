//! Texts, thoughts and tool calls one after the other, without I/O.

use std::collections::VecDeque;

use agentese::agui::Event as AguiEvent;

/// Delays events so that each text, thought and tool call ends before anything else begins. Older versions of
/// `@ag-ui/client`, such as 0.0.35, reject a run with other events in between.
#[derive(Default)]
pub(super) struct SequentialParts {
    /// The id of the part that was started and not ended yet at the client.
    open: Option<String>,
    /// The events that wait for the end of that part, in the order of their arrival.
    waiting: VecDeque<AguiEvent>,
}

impl SequentialParts {
    /// Adds an event to `ready`, or keeps it until the open part ends. The end of a part also adds the events that
    /// waited for it, up to the next part that is incomplete.
    pub fn push(&mut self, event: AguiEvent, ready: &mut Vec<AguiEvent>) {
        let mut next = VecDeque::from([event]);
        while let Some(event) = next.pop_front() {
            let piece = piece(&event);
            if self.open.is_some() && piece.as_ref().map(|(id, _)| *id) != self.open.as_deref() {
                self.waiting.push_back(event);
                continue;
            }
            match piece {
                Some((id, Piece::Start)) => self.open = Some(id.to_owned()),
                Some((_, Piece::End)) => {
                    self.open = None;
                    let later = std::mem::take(&mut next);
                    next = std::mem::take(&mut self.waiting);
                    next.extend(later);
                }
                _ => {}
            }
            ready.push(event);
        }
    }
}

/// The role of an event in its part.
enum Piece {
    Start,
    Content,
    End,
}

/// Returns the id of the part to which the event belongs, and its role. A result does not belong to its call.
fn piece(event: &AguiEvent) -> Option<(&str, Piece)> {
    Some(match event {
        AguiEvent::TextMessageStart(event) => (&event.message_id, Piece::Start),
        AguiEvent::TextMessageContent(event) => (&event.message_id, Piece::Content),
        AguiEvent::TextMessageEnd(event) => (&event.message_id, Piece::End),
        AguiEvent::ReasoningStart(event) => (&event.message_id, Piece::Start),
        AguiEvent::ReasoningMessageStart(event) => (&event.message_id, Piece::Content),
        AguiEvent::ReasoningMessageContent(event) => (&event.message_id, Piece::Content),
        AguiEvent::ReasoningMessageEnd(event) => (&event.message_id, Piece::Content),
        AguiEvent::ReasoningEnd(event) => (&event.message_id, Piece::End),
        AguiEvent::ToolCallStart(event) => (&event.tool_call_id, Piece::Start),
        AguiEvent::ToolCallArgs(event) => (&event.tool_call_id, Piece::Content),
        AguiEvent::ToolCallEnd(event) => (&event.tool_call_id, Piece::End),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use agentese::types::{
        AguiContent, AguiCustom, AguiTextMessageContent, AguiTextMessageEnd, AguiTextMessageStart,
        AguiToolCallArgs, AguiToolCallEnd, AguiToolCallResult, AguiToolCallStart,
    };
    use serde_json::json;

    use super::*;

    /// Returns the event that a word describes, such as `start:a`, `args:a` or `text`.
    fn event(word: &str) -> AguiEvent {
        let (kind, id) = word.split_once(':').unwrap_or((word, "m"));
        match kind {
            "start" => AguiToolCallStart::new(id, "bash").into(),
            "args" => AguiToolCallArgs::new(id, "x").into(),
            "end" => AguiToolCallEnd::new(id).into(),
            "result" => AguiToolCallResult::new("r", id, AguiContent::Text("done".to_owned())).into(),
            "begin" => AguiTextMessageStart::new(id).into(),
            "text" => AguiTextMessageContent::new(id, "x").into(),
            "finish" => AguiTextMessageEnd::new(id).into(),
            "custom" => AguiCustom::new("agentese.notice", json!({})).into(),
            other => panic!("unknown word {other}"),
        }
    }

    fn sequence(words: &str) -> Vec<String> {
        let mut parts = SequentialParts::default();
        let mut ready = Vec::new();
        words.split(' ').for_each(|word| parts.push(event(word), &mut ready));
        assert!(parts.waiting.is_empty(), "{words}");
        ready.iter().map(|event| serde_json::to_string(event).unwrap()).collect()
    }

    fn check(sent: &str, expected: &str) {
        let expected: Vec<_> =
            expected.split(' ').map(|word| serde_json::to_string(&event(word)).unwrap()).collect();
        assert_eq!(sequence(sent), expected, "{sent}");
    }

    #[test]
    fn overlapping_calls_become_sequential_in_the_order_of_their_starts() {
        check("start:a args:a end:a start:b end:b", "start:a args:a end:a start:b end:b");
        check(
            "start:a start:b args:b args:a start:c args:c end:c result:c end:b end:a result:a result:b",
            "start:a args:a end:a start:b args:b end:b start:c args:c end:c result:c result:a result:b",
        );
        check(
            "start:a args:a start:b args:b start:c args:c end:a args:b args:c end:b end:c",
            "start:a args:a end:a start:b args:b args:b end:b start:c args:c args:c end:c",
        );
    }

    #[test]
    fn other_events_wait_for_the_end_of_a_text() {
        check("begin text custom text finish custom", "begin text text finish custom custom");
        check("custom begin custom start:a end:a finish", "custom begin finish custom start:a end:a");
    }

    #[test]
    fn text_waits_for_the_end_of_the_open_call() {
        check("start:a begin text finish end:a result:a", "start:a end:a begin text finish result:a");
        check(
            "start:a begin text finish start:b args:a begin text finish end:a args:b end:b",
            "start:a args:a end:a begin text finish start:b args:b end:b begin text finish",
        );
    }
}
