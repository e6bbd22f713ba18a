//! The reader of a connection.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::dispatch::InboundDispatcher;
use super::events::Backpressure;
use super::shared::{PanicGuard, Shared};
use crate::framing::FrameReader;
use crate::redact;
use crate::termination::{Cause, Termination};
use crate::transport::BoxReader;
use crate::transport::Exit;

/// Time without output after which an ended process is considered read completely. Without this limit, child
/// processes that keep the pipe open would delay the end.
const SILENCE: Duration = Duration::from_millis(100);

/// Longest time for reading the output of an ended process. Child processes may continue to write to its pipe.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Longest wait for the exit of the process after its output ended or its pipe broke. The exit is a more
/// precise cause. On a busy machine it can arrive much later.
pub(super) const EXIT_WITHIN: Duration = Duration::from_secs(2);

pub(super) async fn run(
    shared: Arc<Shared>,
    mut frames: FrameReader<BoxReader>,
    exit: Option<impl Future<Output = Exit> + Send + 'static>,
) {
    let _settles = PanicGuard(shared.clone());
    // A separate task watches the exit: a reader that waits for a subscriber must not delay the end of every
    // call.
    let exited = exit.map(|exit| {
        let shared = shared.clone();
        tokio::spawn(async move {
            let exit = tokio::select! {
                exit = exit => exit,
                () = shared.stop.cancelled() => return,
            };
            shared.drain_output().await;
            let tail = exit.stderr_tail.clone();
            shared.settle(Termination::new(Cause::Exited(exit)).with_stderr_tail(tail));
        })
    });
    let mut batch = Vec::new();
    let mut dispatcher = InboundDispatcher::new(shared.clone());
    let mut backpressure = Backpressure::default();
    let cause = loop {
        let mut may_be_secret = true;
        let mut look = |text: &str| may_be_secret = redact::may_have_secret_payload(text);
        let read = tokio::select! {
            read = frames.next_batch_of(&mut batch, &mut look) => read,
            () = shared.stop.cancelled() => return,
        };
        match read {
            Ok(0) => break Cause::EndOfStream,
            Ok(_) => {}
            Err(error) => break Cause::Io { kind: error.kind(), text: error.to_string() },
        }
        shared.reads.fetch_add(1, Ordering::Relaxed);
        dispatcher.dispatch_batch(&mut batch, frames.take_heads(), may_be_secret).await;
        shared.apply_backpressure(&mut backpressure).await;
    };
    dispatcher.end();
    shared.read_to_end.cancel();
    // A process closes its stdout when it ends, and its exit code carries more information than the end of
    // the stream.
    if let Some(exited) = exited
        && tokio::time::timeout(EXIT_WITHIN, exited).await.is_ok()
    {
        return;
    }
    shared.settle(Termination::new(cause));
}

impl Shared {
    /// Waits until all output of an ended process has been read. From now on, queues accept events beyond their
    /// limit, so subscribers that do not read cause no delay.
    pub(super) async fn drain_output(&self) {
        self.exited.cancel();
        let silence = async {
            loop {
                let before = self.reads.load(Ordering::Relaxed);
                tokio::time::sleep(SILENCE).await;
                if self.reads.load(Ordering::Relaxed) == before {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.read_to_end.cancelled() => {}
            () = self.stop.cancelled() => {}
            () = silence => {}
            () = tokio::time::sleep(DRAIN_LIMIT) => {}
        }
    }
}
