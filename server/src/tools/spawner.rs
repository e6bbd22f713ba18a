//! Starting commands, as a trait: the engine's tests put faults here.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// A program and its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// A path, or a name to look for in `PATH`.
    pub program: OsString,
    /// Its arguments; no shell looks at them.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Variables added to the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables taken from it.
    pub hidden: Vec<OsString>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Starts commands.
pub trait Spawner: Send + Sync {
    /// Starts one command in a process group of its own, with the null device as input. Fails, with the error of the
    /// operating system, when the program did not start. Dropping the future leaves nothing behind.
    fn spawn<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Box<dyn Running>>>;

    /// Starts a program to talk with, in a process group of its own. As [`Spawner::spawn`] otherwise. A spawner that
    /// cannot do this says so with [`io::ErrorKind::Unsupported`], which is the default.
    fn talk<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, io::Result<Talking>> {
        let _ = command;
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

/// A program that is talked with.
pub struct Talking {
    /// What the program reads as its standard input; shut down, the program sees its end.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it writes to its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// What it writes to its error channel.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// The process. It has no output besides these.
    pub running: Box<dyn Running>,
}

/// A started command. Dropping one that has not ended ends its process group.
pub trait Running: Send {
    /// The stream of what the command writes to its output and error channels, in the order of the writes. A second
    /// call gives an empty stream.
    fn take_output(&mut self) -> Box<dyn AsyncRead + Send + Unpin>;

    /// Waits for the end of the command itself; what it left behind in its group may still run. May be dropped and
    /// called again. Fails when the end cannot be known.
    fn wait(&mut self) -> BoxFuture<'_, io::Result<Exit>>;

    /// Ends everything in the process group: asks, and after half a second kills. Returns in bounded time, even when
    /// a process is stuck in the kernel.
    fn end(&mut self) -> BoxFuture<'_, ()>;
}
