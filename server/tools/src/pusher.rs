//! A thread for the work of one command that may block on the disk.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::capture::Capture;

/// A capture with its read buffer, owned by either the reader or the thread.
#[derive(Debug)]
pub(crate) struct Store {
    pub capture: Capture,
    pub chunk: Vec<u8>,
}

/// Passes stores to a thread of its own, which ends when this value is dropped. The pool of the runtime is
/// not suitable, because it panics if the system refuses a thread.
#[derive(Debug, Default)]
pub(crate) struct Pusher {
    thread: Option<mpsc::Sender<Job>>,
}

#[derive(Debug)]
struct Job {
    store: Box<Store>,
    count: usize,
    done: oneshot::Sender<Box<Store>>,
}

impl Job {
    fn run(mut self) {
        self.store.capture.push(&self.store.chunk[..self.count]);
        // A dropped receiver no longer needs the output.
        let _ = self.done.send(self.store);
    }
}

impl Pusher {
    /// Adds the first `count` bytes of the chunk to the capture, and returns the store afterwards. If no
    /// thread is available, the current thread does the work: waiting for a disk is better than losing
    /// output.
    pub(crate) fn push(&mut self, store: Box<Store>, count: usize) -> oneshot::Receiver<Box<Store>> {
        let (done, receiver) = oneshot::channel();
        let job = Job { store, count, done };
        if self.thread.is_none() {
            self.thread = start();
        }
        match &self.thread {
            Some(thread) => {
                if let Err(mpsc::SendError(job)) = thread.send(job) {
                    job.run();
                }
            }
            None => job.run(),
        }
        receiver
    }
}

fn start() -> Option<mpsc::Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let work = move || jobs.iter().for_each(Job::run);
    thread::Builder::new().name("output".to_owned()).spawn(work).is_ok().then_some(sender)
}
