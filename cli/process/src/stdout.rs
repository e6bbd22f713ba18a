//! Detection of a closed stdout, even if nothing is written.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::oneshot;

/// Observer of stdout.
pub struct StdoutWatcher(Option<oneshot::Receiver<()>>);

impl StdoutWatcher {
    /// Observes the current stdout. A stdout that cannot be observed, such as a file, is treated as open
    /// forever.
    ///
    /// A separate thread observes it, because stdout may be shared and must not become non-blocking for other
    /// processes. The thread ends with the process.
    pub fn start() -> Self {
        let (sender, receiver) = oneshot::channel();
        let spawn = || -> io::Result<()> {
            let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
            let watch = move || {
                if is_broken(&descriptor) {
                    let _ = sender.send(());
                }
            };
            std::thread::Builder::new().name("agentese-stdout".to_owned()).spawn(watch)?;
            Ok(())
        };
        Self(spawn().is_ok().then_some(receiver))
    }

    /// Resolves when the reader has closed stdout.
    pub async fn closed(&mut self) {
        if let Some(receiver) = &mut self.0
            && receiver.await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Waits until the reader closes the stream, and returns `true`. Returns `false` if this cannot be detected.
fn is_broken(descriptor: &OwnedFd) -> bool {
    loop {
        // Without requested events, the system reports only errors and hang-ups.
        let mut watched = [PollFd::new(descriptor, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) => {
                let found = watched[0].revents();
                return found.intersects(PollFlags::ERR | PollFlags::HUP) && !found.contains(PollFlags::NVAL);
            }
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
