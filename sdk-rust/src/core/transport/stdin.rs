//! A child's stdin. Its writer can close it, and so can the shutdown.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

/// Handle that closes a child's stdin independently of its writer. Clones share the stdin.
#[derive(Clone)]
pub(super) struct StdinGate(Arc<Mutex<GateState>>);

struct GateState {
    /// The stdin of the child; `None` after it was closed.
    stdin: Option<ChildStdin>,
    /// The waker of a waiting writer, which must be woken when the stdin is closed.
    waiting: Option<Waker>,
}

impl StdinGate {
    pub(super) fn new(stdin: Option<ChildStdin>) -> (Self, StdinWriter) {
        let gate = Self(Arc::new(Mutex::new(GateState { stdin, waiting: None })));
        (gate.clone(), StdinWriter(gate))
    }

    /// Closes the stdin, so that the child reads end of file. A pending or later write fails as a broken pipe.
    pub(super) fn close(&self) {
        let (stdin, waiting) = {
            let mut gate = self.lock();
            (gate.stdin.take(), gate.waiting.take())
        };
        drop(stdin);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writing side of a child's stdin. Dropping it closes the stdin.
pub(super) struct StdinWriter(StdinGate);

impl StdinWriter {
    fn poll<T>(
        &self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut gate = self.0.lock();
        let Some(stdin) = &mut gate.stdin else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        let outcome = write(Pin::new(stdin), context);
        gate.waiting = outcome.is_pending().then(|| context.waker().clone());
        outcome
    }
}

impl AsyncWrite for StdinWriter {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll(context, |stdin, context| stdin.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll(context, |stdin, context| stdin.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll(context, |stdin, context| stdin.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.close();
        Poll::Ready(Ok(()))
    }
}

impl Drop for StdinWriter {
    fn drop(&mut self) {
        self.0.close();
    }
}
