//! Output for users on stderr: warnings, errors, logs. A separate thread writes it, because a client that
//! never reads stderr must not block the agent. If the queue is full, further texts are dropped and counted.

use std::collections::VecDeque;
use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::fmt::MakeWriter;

use super::sanitize::sanitize;

/// Limit of queued bytes.
const LIMIT: usize = 1 << 20;

/// Maximum time that the end of the process waits for the reader of stderr.
pub const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// Writer of messages for users. Clones share one destination.
#[derive(Clone)]
pub struct Stderr(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Condition variable that is notified when a text is added or written.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Number of dropped texts that are not reported yet.
    dropped: u64,
    writing: bool,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, text: Vec<u8>) {
        self.bytes += text.len();
        self.waiting.push_back(text);
    }

    /// Appends a line with the number of dropped texts to the queue.
    fn report_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            self.push(format!("({dropped} lines were dropped here because nobody read them)\n").into_bytes());
        }
    }
}

impl Stderr {
    /// Returns a writer for this process's stderr.
    pub fn of_process() -> Self {
        Self::with_writer(io::stderr())
    }

    /// Returns a writer for a destination whose writes may block forever.
    fn with_writer(mut writer: impl Write + Send + 'static) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let theirs = shared.clone();
        let thread = std::thread::Builder::new().name("agentese-stderr".to_owned()).spawn(move || {
            while let Some(text) = next(&theirs) {
                let written = writer.write_all(&text).and_then(|()| writer.flush());
                let mut state = theirs.state();
                state.writing = false;
                // A failed write means that the destination has no reader any more.
                state.closed = written.is_err();
                drop(state);
                theirs.changed.notify_all();
            }
        });
        // If the thread cannot be started, there is no output, but the agent works.
        shared.state().closed = thread.is_err();
        Self(shared)
    }

    /// Writes a text with a line end. Control characters are escaped.
    pub fn write_line(&self, text: impl Display) {
        let text = text.to_string();
        let mut text = sanitize(&text).into_owned();
        text.push('\n');
        self.push(text.into_bytes());
    }

    /// Writes a warning for the user.
    pub fn warn(&self, text: impl Display) {
        self.write_line(format_args!("Warning: {text}"));
    }

    fn push(&self, text: Vec<u8>) {
        let mut state = self.0.state();
        if state.closed {
            return;
        }
        // A single text that exceeds the limit is accepted if the queue is empty.
        if state.bytes + text.len() > LIMIT && !state.waiting.is_empty() {
            state.dropped += 1;
            return;
        }
        state.report_dropped();
        state.push(text);
        drop(state);
        self.0.changed.notify_all();
    }

    /// Waits until all texts are written, for at most `patience`.
    pub fn flush(&self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut state = self.0.state();
        while !state.closed && (state.writing || !state.waiting.is_empty() || state.dropped > 0) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Redirects panic messages to this writer. The standard hook writes to stderr directly and could block
    /// the agent, which survives a panic inside a tool.
    pub fn take_panics(&self) {
        let stderr = self.clone();
        std::panic::set_hook(Box::new(move |panic| {
            let thread = std::thread::current();
            let backtrace = std::backtrace::Backtrace::capture();
            let backtrace = match backtrace.status() {
                std::backtrace::BacktraceStatus::Captured => format!("\n{backtrace}"),
                _ => String::new(),
            };
            stderr.write_line(format_args!(
                "thread '{}' {panic}{backtrace}",
                thread.name().unwrap_or("unnamed")
            ));
            stderr.flush(FLUSH_LIMIT);
        }));
    }
}

/// Waits for the next text and returns it. Returns `None` after the destination has closed.
fn next(shared: &Shared) -> Option<Vec<u8>> {
    let mut state = shared.state();
    loop {
        if state.closed {
            return None;
        }
        if state.waiting.is_empty() {
            state.report_dropped();
        }
        if let Some(text) = state.waiting.pop_front() {
            state.bytes -= text.len();
            state.writing = true;
            return Some(text);
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.push(sanitize(&text).into_owned().into_bytes());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Stderr {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    const LONG: Duration = Duration::from_secs(60);

    /// Ends the thread and closes the destination.
    fn end(stderr: &Stderr) {
        stderr.0.state().closed = true;
        stderr.0.changed.notify_all();
    }

    #[test]
    fn fm_f27_unread_output_of_ten_mebibytes_does_not_block() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let stderr = Stderr::with_writer(ours);
        let line = "x".repeat(1023);
        let (told, all) = std::sync::mpsc::channel();
        let (speaker, spoken) = (stderr.clone(), line.clone());
        std::thread::spawn(move || {
            for _ in 0..10 * 1024 {
                speaker.write_line(&spoken);
            }
            speaker.flush(Duration::from_millis(10));
            told.send(())
        });
        all.recv_timeout(LONG).expect("it waits for a reader");
        assert!(stderr.0.state().bytes <= LIMIT + 100);
        // A late reader receives complete texts, and the correct number of dropped ones.
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            theirs.read_to_string(&mut text).unwrap();
            text
        });
        stderr.flush(LONG);
        stderr.write_line("the end");
        stderr.flush(LONG);
        end(&stderr);
        let text = reader.join().unwrap();
        let (mut lines, mut dropped) = (0, 0);
        for said in text.lines() {
            match said.strip_prefix('(').and_then(|rest| rest.split(' ').next()) {
                Some(number) => dropped += number.parse::<usize>().unwrap(),
                None if said == line => lines += 1,
                None => assert_eq!(said, "the end"),
            }
        }
        assert_eq!(lines + dropped, 10 * 1024);
        assert!(dropped > 8 * 1024, "{dropped}");
        assert!(text.ends_with("nobody read them)\nthe end\n"), "{}", &text[text.len() - 100..]);
    }

    #[test]
    fn a_failing_destination_is_closed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let stderr = Stderr::with_writer(ours);
        stderr.warn("one");
        stderr.flush(LONG);
        stderr.warn("two");
        assert!(stderr.0.state().closed && stderr.0.state().waiting.is_empty());
    }

    #[test]
    fn fm_f124_control_characters_are_escaped() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut stderr = Stderr::with_writer(ours);
        stderr.warn("no model \"\u{1b}[2J\"");
        stderr.write_all("a log\r\n".as_bytes()).unwrap();
        stderr.flush(LONG);
        end(&stderr);
        let mut text = String::new();
        theirs.read_to_string(&mut text).unwrap();
        assert_eq!(text, "Warning: no model \"\\u{1b}[2J\"\na log\\r\n");
    }
}
