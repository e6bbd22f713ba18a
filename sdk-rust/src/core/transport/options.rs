//! Options for the start and the end of a child process.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Function that receives each line on a child's stderr, in order and without its line end. It runs on the task
/// that reads stderr, so it must not block. After a panic it is not called again.
pub type StderrCallback = Arc<dyn Fn(&str) + Send + Sync>;

/// Options for the start and the end of a child process.
#[derive(Clone)]
#[non_exhaustive]
pub struct ChildOptions {
    /// The program: a path, or a name to find in `PATH`.
    pub program: OsString,
    /// Arguments of the program.
    pub args: Vec<OsString>,
    /// Working directory of the program; `None` for the directory of this process.
    pub cwd: Option<PathBuf>,
    /// Variables to add to the inherited environment.
    pub env: Vec<(OsString, OsString)>,
    /// Variables to remove from the inherited environment.
    pub env_remove: Vec<OsString>,
    /// Maximum length of the retained end of stderr, in bytes; 64 KiB by default.
    pub stderr_tail_bytes: usize,
    /// Time that the group has to end after its stdin was closed; 2 s by default.
    pub eof_grace: Duration,
    /// Time that the group has to end after SIGTERM; 2 s by default.
    pub term_grace: Duration,
    /// Called with each line of stderr.
    pub on_stderr_line: Option<StderrCallback>,
}

impl ChildOptions {
    /// Creates options for the given program without arguments, with the defaults.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            env_remove: Vec::new(),
            stderr_tail_bytes: 64 * 1024,
            eof_grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
            on_stderr_line: None,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Adds a variable to the environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Removes a variable from the inherited environment.
    pub fn env_remove(mut self, name: impl Into<OsString>) -> Self {
        self.env_remove.push(name.into());
        self
    }

    /// Sets the times that the group has to end: `eof` after its stdin was closed, `term` after SIGTERM.
    pub fn graces(mut self, eof: Duration, term: Duration) -> Self {
        (self.eof_grace, self.term_grace) = (eof, term);
        self
    }

    /// Sets the size of the retained end of stderr, in bytes.
    pub fn stderr_tail_bytes(mut self, bytes: usize) -> Self {
        self.stderr_tail_bytes = bytes;
        self
    }

    /// Sets the callback for lines of stderr.
    pub fn on_stderr_line(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stderr_line = Some(Arc::new(callback));
        self
    }
}

impl fmt::Debug for ChildOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables are omitted, because they may contain keys.
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        out.debug_struct("ChildOptions")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("env", &names)
            .field("env_remove", &self.env_remove)
            .field("stderr_tail_bytes", &self.stderr_tail_bytes)
            .field("eof_grace", &self.eof_grace)
            .field("term_grace", &self.term_grace)
            .finish_non_exhaustive()
    }
}
