//! A thread that writes the output of one command, because writing can block.

use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use super::output_capture::OutputCapture;

/// A capture and its read buffer. Either the reader of the output or the thread owns both.
#[derive(Debug)]
pub(crate) struct CaptureBuffer {
    pub capture: OutputCapture,
    pub chunk: Vec<u8>,
}

/// Passes output to a thread that adds it to the capture. Dropping this value ends the thread. The thread
/// pool of the runtime is not used, because it panics if the system cannot start a thread.
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
    /// Adds the first `count` bytes of the chunk to the capture on the thread. The returned receiver gets the
    /// buffer back. If no thread can be started, does this on the current thread and blocks, so that no
    /// output is lost.
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
