//! Noticing that nobody reads stdout any more, also while there is nothing to write.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A second look at stdout.
pub(super) struct Watch(Option<AsyncFd<OwnedFd>>);

impl Watch {
    /// Looks at stdout as it is now. What cannot be watched, such as a file, never breaks.
    pub fn new() -> Self {
        let watch = || -> io::Result<_> {
            let descriptor = io::stdout().as_fd().try_clone_to_owned()?;
            AsyncFd::with_interest(descriptor, Interest::WRITABLE | Interest::ERROR)
        };
        Self(watch().ok())
    }

    /// Resolves when the other side has closed it.
    pub async fn broken(&self) {
        let Some(descriptor) = &self.0 else { return std::future::pending().await };
        loop {
            match descriptor.ready(Interest::WRITABLE | Interest::ERROR).await {
                Ok(mut ready) if ready.ready().is_error() || ready.ready().is_write_closed() => {
                    ready.retain_ready();
                    return;
                }
                // Wait for the next change.
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => return std::future::pending().await,
            }
        }
    }
}
