//! The events of an answer from the provider.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures::future::{Either, select};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use crate::providers::{Failure, FailureKind, StreamEvent};

pub(super) const PANICKED: &str = "The provider failed inside the agent.";

/// Maximum length of joined pieces, in bytes. It bounds the data that waits for a client that never reads.
const LONGEST: usize = 64 << 10;

/// The events of a provider, with pieces that can be joined.
pub(super) struct Incoming<'a> {
    stream: BoxStream<'static, StreamEvent>,
    provider: &'a str,
    /// The event after joined pieces; the inner `None` is the end of the stream.
    held: Option<Option<StreamEvent>>,
    length: usize,
}

impl<'a> Incoming<'a> {
    pub fn new(stream: BoxStream<'static, StreamEvent>, provider: &'a str) -> Self {
        Self { stream, provider, held: None, length: 0 }
    }

    /// Returns the length of all pieces so far, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the next event; `None` at the end. A panic of the provider becomes a failure.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        let next = match self.held.take() {
            Some(held) => held,
            None => self.read().await,
        };
        if let Some(piece) = next.as_ref().and_then(piece) {
            self.length += piece.len();
        }
        next
    }

    /// Returns the event joined with the following pieces, up to the moment at which there is room. An event that is
    /// not a piece, or that another event already follows, stays unchanged.
    pub async fn joined(&mut self, mut event: StreamEvent, room: impl Future<Output = ()>) -> StreamEvent {
        let mut room = pin!(room);
        while self.held.is_none() && piece(&event).is_some_and(|piece| piece.len() < LONGEST) {
            // The writer of the waiting data needs a turn, even if the provider is fast.
            tokio::task::consume_budget().await;
            let Either::Right((next, _)) = select(room.as_mut(), pin!(self.read())).await else { break };
            match next.map(|next| join(&mut event, next)) {
                Some(Ok(added)) => self.length += added,
                Some(Err(other)) => self.held = Some(Some(other)),
                None => self.held = Some(None),
            }
        }
        event
    }

    async fn read(&mut self) -> Option<StreamEvent> {
        AssertUnwindSafe(self.stream.next()).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(provider = self.provider, "a provider panicked");
            Some(StreamEvent::Error(Failure::new(FailureKind::Protocol, PANICKED)))
        })
    }
}

/// Returns the text of an event that is a piece of a block.
pub(super) fn piece(event: &StreamEvent) -> Option<&str> {
    match event {
        StreamEvent::TextDelta(text)
        | StreamEvent::ThinkingDelta(text)
        | StreamEvent::ToolCallDelta(text) => Some(text),
        _ => None,
    }
}

/// Appends a piece to the one before it and returns its length. Returns the piece as the error if it belongs to another
/// block.
fn join(event: &mut StreamEvent, next: StreamEvent) -> Result<usize, StreamEvent> {
    match (event, &next) {
        (StreamEvent::TextDelta(text), StreamEvent::TextDelta(more))
        | (StreamEvent::ThinkingDelta(text), StreamEvent::ThinkingDelta(more))
        | (StreamEvent::ToolCallDelta(text), StreamEvent::ToolCallDelta(more)) => {
            text.push_str(more);
            Ok(more.len())
        }
        _ => Err(next),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::providers::Done;

    fn incoming(events: Vec<StreamEvent>) -> Incoming<'static> {
        Incoming::new(futures::stream::iter(events).boxed(), "test")
    }

    fn text(text: &str) -> StreamEvent {
        StreamEvent::TextDelta(text.to_owned())
    }

    #[tokio::test]
    async fn pieces_of_one_block_are_joined_until_there_is_room() {
        let events = || vec![text("a"), text("b"), text("c"), StreamEvent::TextEnd, text("d")];
        let mut behind = incoming(events());
        let first = behind.next().await.unwrap();
        assert_eq!(behind.joined(first, pending()).await, text("abc"));
        assert_eq!((behind.length(), behind.next().await), (3, Some(StreamEvent::TextEnd)));
        assert_eq!(behind.joined(StreamEvent::TextEnd, pending()).await, StreamEvent::TextEnd);
        let last = behind.next().await.unwrap();
        assert_eq!(behind.joined(last, pending()).await, text("d"));
        assert_eq!((behind.length(), behind.next().await, behind.next().await), (4, None, None));

        let mut in_time = incoming(events());
        let first = in_time.next().await.unwrap();
        assert_eq!(in_time.joined(first, ready(())).await, text("a"));
        assert_eq!(in_time.next().await, Some(text("b")));
    }

    #[tokio::test]
    async fn what_came_behind_joined_pieces_is_not_lost_when_they_are_joined_again() {
        let done = || StreamEvent::Done(Done::Stop);
        for behind in [vec![StreamEvent::TextEnd, done()], vec![done()], vec![]] {
            let mut pieces = incoming([text("a"), text("b")].into_iter().chain(behind.clone()).collect());
            let first = pieces.next().await.unwrap();
            let joined = pieces.joined(first, pending()).await;
            assert_eq!(pieces.joined(joined, pending()).await, text("ab"));
            for event in behind {
                assert_eq!(pieces.next().await, Some(event));
            }
            assert_eq!((pieces.length(), pieces.next().await), (2, None));
        }
    }

    #[tokio::test]
    async fn what_is_joined_has_a_limit() {
        let mut behind = incoming(vec![text(&"x".repeat(LONGEST / 4)); 6]);
        let first = behind.next().await.unwrap();
        assert_eq!(behind.joined(first, pending()).await, text(&"x".repeat(LONGEST)));
        assert_eq!(behind.length(), LONGEST);
    }
}
