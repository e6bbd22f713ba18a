//! Blocking work on separate threads.
//!
//! The thread pool of the runtime is not used, because it panics if the system cannot start a thread. A tool
//! must return a result even then.

use std::thread;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::locks::ABORTED;
use crate::os_error;

/// Runs `job` on a new thread and returns its result. Fails with a text for the model if the thread cannot be
/// started or the job panics. Dropping the future does not stop the job.
pub(crate) async fn run<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = oneshot::channel();
    let started = thread::Builder::new().name("tool".to_owned()).spawn(move || drop(sender.send(job())));
    started.map_err(|error| format!("cannot start a thread: {}", os_error::reason(&error)))?;
    receiver.await.unwrap_or_else(|_| Err("the tool failed with an internal error".to_owned()))
}

/// Runs `job` as [`run`] does. If the call is aborted, fails immediately, even if a file system does not
/// answer. The token that the job receives is cancelled by an abort, and when the future is dropped.
pub(crate) async fn run_unless_aborted<T: Send + 'static>(
    abort: &CancellationToken,
    job: impl FnOnce(&CancellationToken) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let stop = abort.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(ABORTED.to_owned()),
        result = run(move || job(&stop)) => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn results_failures_and_panics_come_back() {
        assert_eq!(run(|| Ok(7)).await, Ok(7));
        assert_eq!(run(|| Err::<(), _>("no".to_owned())).await, Err("no".to_owned()));
        assert!(run(|| -> Result<(), _> { panic!("on purpose") }).await.is_err());
    }

    #[tokio::test]
    async fn a_dropped_or_aborted_job_sees_it() {
        let wait = |stop: &CancellationToken, seen: oneshot::Sender<()>| {
            while !stop.is_cancelled() {
                thread::yield_now();
            }
            let _ = seen.send(());
            Ok(())
        };
        let abort = CancellationToken::new();
        let (sender, seen) = oneshot::channel();
        let job = run_unless_aborted(&abort, move |stop| wait(stop, sender));
        assert!(tokio::time::timeout(std::time::Duration::from_millis(1), job).await.is_err());
        seen.await.unwrap();

        let (sender, seen) = oneshot::channel();
        let canceller = abort.clone();
        let (result, ()) =
            tokio::join!(run_unless_aborted(&abort, move |stop| wait(stop, sender)), async move {
                canceller.cancel();
            });
        assert_eq!(result, Err(ABORTED.to_owned()));
        seen.await.unwrap();
    }
}
