//! This process's own stdin and stdout, for a server that another process started.

use std::io;

use super::{Transport, system};

/// stdin and stdout of this process. Fails outside of a tokio runtime with I/O, and where descriptors run out.
///
/// Call it once: two readers would tear lines apart. The process keeps its stdout open besides, so the peer
/// sees the end of stdout when the process ends; [`guard_stdio`] is the better choice for a server.
pub fn stdio() -> io::Result<Transport> {
    let (reader, writer) = system::open_stdio()?;
    Ok(Transport { reader, writer, child: None })
}

/// Like [`stdio`], and keeps everything else away from the two: what any library prints to stdout afterwards
/// goes to stderr, and what reads stdin, child processes included, reads an empty file.
pub fn guard_stdio() -> io::Result<Transport> {
    let transport = stdio()?;
    system::divert_stdio()?;
    Ok(transport)
}
