//! Transmission of the body of a request.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, stream};
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_LENGTH;

use crate::apis::Body;

/// The bytes that are read from a file at once.
const PART: usize = 256 << 10;

/// Adds the body to a request. A long one is read from its file as it leaves.
pub(super) fn add(request: RequestBuilder, body: &Body) -> RequestBuilder {
    match body {
        Body::Memory(text) => request.body(text.clone()),
        Body::File { file, length } => {
            let parts = reqwest::Body::wrap_stream(parts(file.clone(), *length));
            request.header(CONTENT_LENGTH, *length).body(parts)
        }
    }
}

/// Reads a file of that length part by part, from its beginning.
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

    use futures::TryStreamExt as _;

    use super::*;

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
