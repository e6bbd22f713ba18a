//! A thread for the work of one command that may block on the disk.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::output_capture::OutputCapture;

/// A capture with its read buffer, owned by either the reader or the thread.
#[derive(Debug)]
pub(crate) struct CaptureBuffer {
    pub capture: OutputCapture,
    pub chunk: Vec<u8>,
}

/// Passes buffers to a thread of its own, which ends when this value is dropped. The pool of the runtime is
/// not suitable, because it panics if the system refuses a thread.
#[derive(Debug, Default)]
pub(crate) struct DiskWriter {
    thread: Option<mpsc::Sender<WriteJob>>,
}

#[derive(Debug)]
struct WriteJob {
    buffer: Box<CaptureBuffer>,
    count: usize,
    done: oneshot::Sender<Box<CaptureBuffer>>,
}

impl WriteJob {
    fn run(mut self) {
        self.buffer.capture.push(&self.buffer.chunk[..self.count]);
        // A dropped receiver no longer needs the output.
        let _ = self.done.send(self.buffer);
    }
}

impl DiskWriter {
    /// Adds the first `count` bytes of the chunk to the capture. The receiver gets the buffer back. If no
    /// thread is available, the current thread does the work: waiting for a disk is better than losing
    /// output.
    pub(crate) fn push(
        &mut self,
        buffer: Box<CaptureBuffer>,
        count: usize,
    ) -> oneshot::Receiver<Box<CaptureBuffer>> {
        let (done, receiver) = oneshot::channel();
        let job = WriteJob { buffer, count, done };
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

fn start() -> Option<mpsc::Sender<WriteJob>> {
    let (sender, jobs) = mpsc::channel::<WriteJob>();
    let work = move || jobs.iter().for_each(WriteJob::run);
    thread::Builder::new().name("output".to_owned()).spawn(work).is_ok().then_some(sender)
}
