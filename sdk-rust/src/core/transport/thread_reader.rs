//! An asynchronous reader for a file that only supports blocking reads.

use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;

/// Size of one read by the thread, in bytes.
const READ: usize = 64 * 1024;
/// Maximum number of reads whose data wait in the buffer.
const READY: usize = 4;

/// Reads a file that only supports blocking reads, on a thread of its own.
///
/// It does not use the blocking pool of the runtime. When a runtime ends, it waits for its pool, and a read
/// from a terminal may never return. The thread ends with the stream, or with the process.
pub(super) struct ThreadReader {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl ThreadReader {
    pub(super) fn start(mut file: File) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(READY);
        std::thread::Builder::new().name("agentese-stdin".to_owned()).spawn(move || {
            let mut buffer = vec![0; READ];
            loop {
                let chunk = match file.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, current: Bytes::new() })
    }
}

impl AsyncRead for ThreadReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.current.is_empty() {
            match ready!(self.chunks.poll_recv(context)) {
                Some(chunk) => self.current = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = buffer.remaining().min(self.current.len());
        buffer.put_slice(&self.current[..count]);
        self.current.advance(count);
        Poll::Ready(Ok(()))
    }
}
