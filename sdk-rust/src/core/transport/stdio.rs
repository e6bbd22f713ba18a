//! This process's own stdin and stdout, for a server that another process started.

use std::io;

use super::{Transport, system};

/// Opens stdin and stdout of this process. Fails outside of a tokio runtime with I/O, and if descriptors run
/// out.
///
/// Call it once: two readers would split lines. The process keeps another reference to its stdout, so the
/// peer sees the end of stdout when the process ends. For a server, [`guard_stdio`] is the better choice.
pub fn stdio() -> io::Result<Transport> {
    let (reader, writer) = system::open_stdio()?;
    Ok(Transport { reader, writer, child: None })
}

/// Works like [`stdio`], and diverts all other uses of the two streams. Later output of libraries to stdout
/// goes to stderr. Later readers of stdin, including child processes, read an empty file.
pub fn guard_stdio() -> io::Result<Transport> {
    let transport = stdio()?;
    system::divert_stdio()?;
    Ok(transport)
}
