//! The events of an answer, as the provider streams it.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures::future::{Either, select};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use crate::providers::{ProviderError, ProviderErrorKind, StreamEvent};

pub(in crate::engine) const PROVIDER_PANICKED: &str = "The provider failed inside the agent.";

/// Maximum length of joined pieces, in bytes. It bounds the data that waits for a client that never reads.
const MAX_JOINED_BYTES: usize = 64 << 10;

/// The events of a provider. Successive pieces of the same block can be joined.
pub(in crate::engine) struct ResponseStream<'a> {
    stream: BoxStream<'static, StreamEvent>,
    provider: &'a str,
    /// The event that was read after joined pieces and is returned next. The inner `None` is the end of the stream.
    lookahead: Option<Option<StreamEvent>>,
    length: usize,
}

impl<'a> ResponseStream<'a> {
    pub fn new(stream: BoxStream<'static, StreamEvent>, provider: &'a str) -> Self {
        Self { stream, provider, lookahead: None, length: 0 }
    }

    /// Returns the length of all pieces so far, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the next event; `None` at the end. A panic of the provider becomes a failure.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        let next = match self.lookahead.take() {
            Some(held) => held,
            None => self.read().await,
        };
        if let Some(piece) = next.as_ref().and_then(delta_text) {
            self.length += piece.len();
        }
        next
    }

    /// Joins a piece with the pieces that follow it, until `room` completes. Returns the joined event. If `event`
    /// is not a piece, or if the next event was read already, returns `event` unchanged.
    pub async fn join_pieces(
        &mut self,
        mut event: StreamEvent,
        room: impl Future<Output = ()>,
    ) -> StreamEvent {
        let mut room = pin!(room);
        while self.lookahead.is_none()
            && delta_text(&event).is_some_and(|piece| piece.len() < MAX_JOINED_BYTES)
        {
            // The writer of the waiting data needs a turn, even if the provider is fast.
            tokio::task::consume_budget().await;
            let Either::Right((next, _)) = select(room.as_mut(), pin!(self.read())).await else { break };
            match next.map(|next| append_delta(&mut event, next)) {
                Some(Ok(added)) => self.length += added,
                Some(Err(other)) => self.lookahead = Some(Some(other)),
                None => self.lookahead = Some(None),
            }
        }
        event
    }

    async fn read(&mut self) -> Option<StreamEvent> {
        AssertUnwindSafe(self.stream.next()).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(provider = self.provider, "a provider panicked");
            Some(StreamEvent::Error(ProviderError::new(ProviderErrorKind::Protocol, PROVIDER_PANICKED)))
        })
    }
}

/// Returns the text of an event that is a piece of a block.
pub(in crate::engine) fn delta_text(event: &StreamEvent) -> Option<&str> {
    match event {
        StreamEvent::TextDelta(text)
        | StreamEvent::ThinkingDelta(text)
        | StreamEvent::ToolCallDelta(text) => Some(text),
        _ => None,
    }
}

/// Appends the piece `next` to the piece `event`, and returns its length. Fails with `next` if it belongs to
/// another block.
fn append_delta(event: &mut StreamEvent, next: StreamEvent) -> Result<usize, StreamEvent> {
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
    use crate::providers::FinishReason;

    fn response_stream(events: Vec<StreamEvent>) -> ResponseStream<'static> {
        ResponseStream::new(futures::stream::iter(events).boxed(), "test")
    }

    fn text(text: &str) -> StreamEvent {
        StreamEvent::TextDelta(text.to_owned())
    }

    #[tokio::test]
    async fn pieces_of_one_block_are_joined_until_the_client_has_capacity() {
        let events = || vec![text("a"), text("b"), text("c"), StreamEvent::TextEnd, text("d")];
        let mut behind = response_stream(events());
        let first = behind.next().await.unwrap();
        assert_eq!(behind.join_pieces(first, pending()).await, text("abc"));
        assert_eq!((behind.length(), behind.next().await), (3, Some(StreamEvent::TextEnd)));
        assert_eq!(behind.join_pieces(StreamEvent::TextEnd, pending()).await, StreamEvent::TextEnd);
        let last = behind.next().await.unwrap();
        assert_eq!(behind.join_pieces(last, pending()).await, text("d"));
        assert_eq!((behind.length(), behind.next().await, behind.next().await), (4, None, None));

        let mut in_time = response_stream(events());
        let first = in_time.next().await.unwrap();
        assert_eq!(in_time.join_pieces(first, ready(())).await, text("a"));
        assert_eq!(in_time.next().await, Some(text("b")));
    }

    #[tokio::test]
    async fn event_after_joined_pieces_survives_another_join() {
        let done = || StreamEvent::Done(FinishReason::Stop);
        for behind in [vec![StreamEvent::TextEnd, done()], vec![done()], vec![]] {
            let mut pieces =
                response_stream([text("a"), text("b")].into_iter().chain(behind.clone()).collect());
            let first = pieces.next().await.unwrap();
            let joined = pieces.join_pieces(first, pending()).await;
            assert_eq!(pieces.join_pieces(joined, pending()).await, text("ab"));
            for event in behind {
                assert_eq!(pieces.next().await, Some(event));
            }
            assert_eq!((pieces.length(), pieces.next().await), (2, None));
        }
    }

    #[tokio::test]
    async fn joined_pieces_have_a_size_limit() {
        let mut behind = response_stream(vec![text(&"x".repeat(MAX_JOINED_BYTES / 4)); 6]);
        let first = behind.next().await.unwrap();
        assert_eq!(behind.join_pieces(first, pending()).await, text(&"x".repeat(MAX_JOINED_BYTES)));
        assert_eq!(behind.length(), MAX_JOINED_BYTES);
    }
}
