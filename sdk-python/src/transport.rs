//! Sockets: those that Python hands over, as transports, and pairs of connected ones.

#[cfg(unix)]
pub use unix::{Socket, Stream, number, pair, socket};
#[cfg(windows)]
pub use windows::{Socket, Stream, number, pair, socket};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

    use agentese::transport::Transport;
    use pyo3::prelude::*;
    use tokio::net::UnixStream;

    use crate::inherited;

    /// A socket's number, as Python's `fileno` gives it.
    pub type Socket = RawFd;
    /// A connected socket.
    pub type Stream = std::os::unix::net::UnixStream;

    /// A transport over a connected Unix socket, which stays the caller's.
    pub fn socket(number: Socket) -> PyResult<Transport> {
        if number < 0 {
            return Err(io::Error::from_raw_os_error(9).into());
        }
        // SAFETY: it is used for one `dup` only, which fails for a descriptor that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        let own: OwnedFd = borrowed.try_clone_to_owned()?;
        let socket = Stream::from(own);
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        inherited::remember(&[socket.as_raw_fd()]);
        let (reader, writer) = UnixStream::from_std(socket)?.into_split();
        Ok(Transport::from_io(reader, writer))
    }

    /// Two sockets that are each other's peer.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        Stream::pair()
    }

    /// The number of a socket.
    pub fn number(socket: &Stream) -> Socket {
        socket.as_raw_fd()
    }
}

/// Compiled in continuous integration, and tested nowhere.
#[cfg(windows)]
mod windows {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::windows::io::{AsRawSocket, BorrowedSocket, RawSocket};

    use agentese::transport::Transport;
    use pyo3::prelude::*;
    use tokio::net::TcpStream;

    /// A socket's number, as Python's `fileno` gives it.
    pub type Socket = RawSocket;
    /// A connected socket.
    pub type Stream = std::net::TcpStream;

    /// A transport over a connected TCP socket, which stays the caller's. `socket.socketpair` makes such ones here.
    pub fn socket(number: Socket) -> PyResult<Transport> {
        if number == RawSocket::MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        // SAFETY: it is used for one duplication only, which fails for a socket that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedSocket::borrow_raw(number) };
        let socket = Stream::from(borrowed.try_clone_to_owned()?);
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let (reader, writer) = TcpStream::from_std(socket)?.into_split();
        Ok(Transport::from_io(reader, writer))
    }

    /// Two sockets that are each other's peer. Windows has no socket pairs, so they connect over the loopback device;
    /// another program that connects there first is turned away.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let ours = Stream::connect(listener.local_addr()?)?;
        loop {
            let (theirs, peer) = listener.accept()?;
            if peer == ours.local_addr()? {
                ours.set_nodelay(true)?;
                theirs.set_nodelay(true)?;
                return Ok((theirs, ours));
            }
        }
    }

    /// The number of a socket.
    pub fn number(socket: &Stream) -> Socket {
        socket.as_raw_socket()
    }
}
