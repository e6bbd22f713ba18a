//! Streams that Python hands over, as transports.

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net;

use agentese::transport::Transport;
use pyo3::prelude::*;
use tokio::net::UnixStream;

use crate::inherited;

/// A transport over a connected Unix socket, by its descriptor, which stays the caller's.
pub fn socket(descriptor: i32) -> PyResult<Transport> {
    if descriptor < 0 {
        return Err(std::io::Error::from_raw_os_error(9).into());
    }
    // SAFETY: it is used for one `dup` only, which fails for a descriptor that is not open.
    #[allow(unsafe_code)]
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let own: OwnedFd = borrowed.try_clone_to_owned()?;
    let socket = net::UnixStream::from(own);
    socket.local_addr()?;
    socket.set_nonblocking(true)?;
    inherited::remember(&[socket.as_raw_fd()]);
    let (reader, writer) = UnixStream::from_std(socket)?.into_split();
    Ok(Transport::from_io(reader, writer))
}
