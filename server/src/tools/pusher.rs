//! A thread that does for one command what may block on the disk.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::capture::Capture;

/// A capture with the buffer that is read into; it is either with the reader or with the thread.
#[derive(Debug)]
pub(crate) struct Store {
    pub capture: Capture,
    pub chunk: Vec<u8>,
}

/// Hands stores to a thread of its own, which ends with this. Not to the pool of the runtime: that one panics when the
/// system refuses it a thread.
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
        // A receiver that is gone does not want the output any more.
        let _ = self.done.send(self.store);
    }
}

impl Pusher {
    /// Pushes the first `count` bytes of the chunk into the capture; the store comes back when that is done. Where no
    /// thread can be had it is done right here: waiting for a disk is better than losing output.
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
