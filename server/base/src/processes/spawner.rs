//! Start of commands, as a trait, so that tests of the engine can inject faults.

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
    /// Variables removed from it.
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

/// Starts commands.
pub trait Spawner: Send + Sync {
    /// Starts one command in a process group of its own, with the null device as input. Fails with the error
    /// of the operating system if the program did not start. Dropping the future leaves no process behind.
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn ProcessHandle>>>;

    /// Starts a program that communicates with the server, in a process group of its own; otherwise as
    /// [`Spawner::spawn`]. The default fails with [`io::ErrorKind::Unsupported`].
    fn spawn_piped<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<PipedProcess>> {
        let _ = command;
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

/// A program that communicates with the server.
pub struct PipedProcess {
    /// The program's standard input; after a shutdown the program reads its end.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The program's standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The program's error channel.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// The process, without further output.
    pub process: Box<dyn ProcessHandle>,
}

/// A started command. Dropping one that has not ended ends its process group.
pub trait ProcessHandle: Send {
    /// Returns the stream of the command's output and error channels, in the order of the writes. A second
    /// call returns an empty stream.
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin>;

    /// Waits for the end of the command itself; other processes in its group may still run. May be dropped
    /// and called again. Fails if the end is unknown.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>>;

    /// Ends all processes in the group: requests the end, and kills after half a second. Returns in bounded
    /// time, even if a process is stuck in the kernel.
    fn end(&mut self) -> BoxFuture<'_, ()>;
}
