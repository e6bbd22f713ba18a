//! This process's own stdin and stdout, for a server that another process started.

use std::io;

use super::{Transport, system};

/// Opens stdin and stdout of this process. Fails if no tokio runtime with I/O is running, or if the process has
/// no free file descriptor.
///
/// Call it only once: two readers would each get parts of the lines. The process itself keeps stdout open. The
/// other side therefore sees the end of stdout only when the process ends. For a server, [`guard_stdio`] is the
/// better choice.
pub fn stdio() -> io::Result<Transport> {
    let (reader, writer) = system::open_stdio()?;
    Ok(Transport { reader, writer, child: None })
}

/// Works like [`stdio`], and also protects the two streams from other code in this process. Later output of
/// libraries to stdout goes to stderr. Later readers of stdin, including child processes, read an empty file.
pub fn guard_stdio() -> io::Result<Transport> {
    let transport = stdio()?;
    system::divert_stdio()?;
    Ok(transport)
}
