//! Noticing that nobody reads stdout any more, also while there is nothing to write.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::oneshot;

/// A second look at stdout.
pub(super) struct Watch(Option<oneshot::Receiver<()>>);

impl Watch {
    /// Looks at stdout as it is now. What cannot be watched, such as a file, never breaks.
    ///
    /// A thread does it, because stdout may be shared and must not become non-blocking for others.
    /// It ends with the process.
    pub fn new() -> Self {
        let (sender, receiver) = oneshot::channel();
        let start = || -> io::Result<()> {
            let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
            let watch = move || {
                if is_broken(&descriptor) {
                    let _ = sender.send(());
                }
            };
            std::thread::Builder::new().name("agentese-stdout".to_owned()).spawn(watch)?;
            Ok(())
        };
        Self(start().is_ok().then_some(receiver))
    }

    /// Resolves when the other side has closed it.
    pub async fn broken(&mut self) {
        if let Some(receiver) = &mut self.0
            && receiver.await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}

/// Waits for the other side to close; false where that cannot be known.
fn is_broken(descriptor: &OwnedFd) -> bool {
    loop {
        // Asked for nothing, the system tells of errors and hang-ups only.
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
