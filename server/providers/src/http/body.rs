//! Sending of request bodies.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_LENGTH;
use tokio::sync::Notify;

use crate::apis::Body;

/// Number of bytes that are sent or read from a file in one step.
const PART: usize = 64 << 10;

/// Adds the body to a request. A long body is sent in parts, directly from its file if it has one. `progress` is
/// notified of each part.
pub(super) fn add(request: RequestBuilder, body: &Body, progress: &Arc<Notify>) -> RequestBuilder {
    match body {
        Body::Memory(text) if !is_long(body) => request.body(text.clone()),
        _ => {
            let parts = reqwest::Body::wrap_stream(body_stream(body, progress.clone()));
            request.header(CONTENT_LENGTH, length(body)).body(parts)
        }
    }
}

fn body_stream(body: &Body, progress: Arc<Notify>) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
    let parts = match body {
        Body::Memory(text) => stream::iter(pieces(text.clone()).map(Ok)).boxed(),
        Body::File { file, length } => parts(file.clone(), *length).boxed(),
    };
    parts.inspect(move |_| progress.notify_one())
}

/// Returns `true` if a body is sent in parts. The HTTP client cannot follow redirects of such a request.
pub(super) fn is_long(body: &Body) -> bool {
    length(body) > PART as u64
}

fn length(body: &Body) -> u64 {
    match body {
        Body::Memory(text) => text.len() as u64,
        Body::File { length, .. } => *length,
    }
}

/// Splits a text into parts without copies.
fn pieces(mut text: Bytes) -> impl Iterator<Item = Bytes> + Send {
    std::iter::from_fn(move || (!text.is_empty()).then(|| text.split_to(text.len().min(PART))))
}

/// Reads a file of the given length part by part from its beginning.
fn parts(file: Arc<File>, length: u64) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(0, move |at| {
        let file = file.clone();
        async move {
            let count = usize::try_from(length - at).map_or(PART, |rest| rest.min(PART));
            if count == 0 {
                return Ok(None);
            }
            let read = move || {
                let mut part = vec![0; count];
                file.read_exact_at(&mut part, at).map(|()| part)
            };
            let part = tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??;
            Ok(Some((Bytes::from(part), at + count as u64)))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures::{FutureExt as _, TryStreamExt as _};

    use super::*;

    #[tokio::test]
    async fn each_part_of_a_long_text_notifies_that_it_leaves() {
        let text: Vec<u8> = (0..PART * 2 + 7).map(|at| (at % 251) as u8).collect();
        let progress = Arc::new(Notify::new());
        let body = Body::Memory(text.clone().into());
        let mut parts = std::pin::pin!(body_stream(&body, progress.clone()));
        let mut found = Vec::new();
        while let Some(part) = parts.try_next().await.unwrap() {
            assert!(part.len() <= PART && progress.notified().now_or_never().is_some());
            found.extend_from_slice(&part);
        }
        assert!(found == text, "the parts are the text");
        assert!(progress.notified().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_file_is_read_part_by_part_and_from_its_beginning_each_time() {
        let text: Vec<u8> = (0..PART * 2 + 7).map(|at| (at % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&text).unwrap();
        let (file, length) = (Arc::new(file), text.len() as u64);
        for _ in 0..2 {
            let found: Vec<Bytes> = parts(file.clone(), length).try_collect().await.unwrap();
            assert_eq!(found.len(), 3);
            assert!(found.concat() == text, "the parts are the file");
        }
        let cut: io::Result<Vec<Bytes>> = parts(file, length + 1).try_collect().await;
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
