//! Transports over sockets that Python passes, and pairs of connected sockets.

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

    /// The number of a socket, as in Python's `fileno`.
    pub type Socket = RawFd;
    /// Type of connected sockets on Unix.
    pub type Stream = std::os::unix::net::UnixStream;

    /// Creates a transport over a connected Unix socket. The caller keeps its own socket.
    pub fn socket(number: Socket) -> PyResult<Transport> {
        if number < 0 {
            return Err(io::Error::from_raw_os_error(9).into());
        }
        // SAFETY: the descriptor is used for one `dup` only, which fails for a descriptor that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        let own: OwnedFd = borrowed.try_clone_to_owned()?;
        let socket = Stream::from(own);
        socket.local_addr()?;
        socket.set_nonblocking(true)?;
        inherited::register(&[socket.as_raw_fd()]);
        let (reader, writer) = UnixStream::from_std(socket)?.into_split();
        Ok(Transport::from_io(reader, writer))
    }

    /// Returns two connected sockets.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        Stream::pair()
    }

    /// Returns the number of a socket.
    pub fn number(socket: &Stream) -> Socket {
        socket.as_raw_fd()
    }
}

/// The implementation for Windows. Continuous integration compiles it but does not test it.
#[cfg(windows)]
mod windows {
    use std::io;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::windows::io::{AsRawSocket, BorrowedSocket, RawSocket};

    use agentese::transport::Transport;
    use pyo3::prelude::*;
    use tokio::net::TcpStream;

    /// The number of a socket, as in Python's `fileno`.
    pub type Socket = RawSocket;
    /// Type of connected sockets on Windows.
    pub type Stream = std::net::TcpStream;

    /// Creates a transport over a connected TCP socket, as from `socket.socketpair`. The caller keeps its own
    /// socket.
    pub fn socket(number: Socket) -> PyResult<Transport> {
        if number == RawSocket::MAX {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        }
        // SAFETY: the socket is used for one duplication only, which fails for a socket that is not open.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedSocket::borrow_raw(number) };
        let socket = Stream::from(borrowed.try_clone_to_owned()?);
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let (reader, writer) = TcpStream::from_std(socket)?.into_split();
        Ok(Transport::from_io(reader, writer))
    }

    /// Returns two connected sockets. Windows has no socket pairs, so the two sockets connect over the
    /// loopback address. A connection from another program is rejected.
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

    /// Returns the number of a socket.
    pub fn number(socket: &Stream) -> Socket {
        socket.as_raw_socket()
    }
}
