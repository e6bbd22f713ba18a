//! The trait that starts commands. Tests implement it to inject faults.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A program with its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// A path, or a name to find in `PATH`.
    pub program: OsString,
    /// Arguments of the program, without a shell.
    pub arguments: Vec<OsString>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Variables added to the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables that are removed from the inherited environment.
    pub hidden: Vec<OsString>,
}

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command exited with this code.
    Code(i32),
    /// A signal ended the command.
    Signal(i32),
}

/// A service that starts commands as processes.
pub trait Spawner: Send + Sync {
    /// Starts one command in its own process group; its stdin is the null device. Fails with the error of the
    /// operating system if the program did not start. Dropping the future leaves no process behind.
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn ProcessHandle>>>;

    /// Starts a program that communicates with the server over stdin and stdout. Everything else is as in
    /// [`Spawner::spawn`]. The default implementation fails with [`io::ErrorKind::Unsupported`].
    fn spawn_piped<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<PipedProcess>> {
        let _ = command;
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

/// A program that communicates with the server.
pub struct PipedProcess {
    /// The program's stdin. After this writer is shut down, the program reads the end of its input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program's stdout.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The program's stderr.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// The process. Its [`ProcessHandle::take_output`] returns an empty stream.
    pub process: Box<dyn ProcessHandle>,
}

/// A started command. Dropping the handle of a running command ends its process group.
pub trait ProcessHandle: Send {
    /// Returns the command's stdout and stderr as one stream, in the order of the writes. A second call
    /// returns an empty stream.
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin>;

    /// Waits until the command itself has ended; other processes in its group can still run. Dropping the
    /// future has no effect, and the method can be called again. Fails if the result of the command is
    /// unknown.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>>;

    /// Ends all processes in the group with SIGTERM, and with SIGKILL after half a second. Returns in bounded
    /// time, even if a process is stuck in the kernel.
    fn end(&mut self) -> BoxFuture<'_, ()>;
}
