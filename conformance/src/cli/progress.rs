//! Progress on stderr. A terminal shows one line that changes; other outputs get a line for each case.

use std::io::{IsTerminal as _, Write as _};

use agentese::types::CheckLevel;
use agentese_conformance::run::{CaseResult, Progress};
use agentese_conformance::verdict::Verdict;

/// Assumed width if the width of the terminal is unknown.
const WIDTH: usize = 80;

/// Progress output while cases are played.
pub(super) struct ProgressReporter {
    level: CheckLevel,
    total: usize,
    done: usize,
    failed: usize,
    playing: Vec<String>,
    is_terminal: bool,
}

impl ProgressReporter {
    pub(super) fn new(total: usize, level: CheckLevel) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { level, total, done: 0, failed: 0, playing: Vec::new(), is_terminal }
    }

    pub(super) fn report(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Started(name) => self.playing.push(name.to_owned()),
            Progress::Finished(ran) => {
                self.done += 1;
                let name = &ran.judgement.case.name;
                self.playing.retain(|playing| playing != name);
                let verdict = ran.judgement.verdict(self.level);
                self.failed += usize::from(verdict == Verdict::Fail);
                // Cases that were not played appear only in the report.
                if ran.took.is_some() && (!self.is_terminal || verdict == Verdict::Fail) {
                    self.line(ran, verdict);
                }
            }
        }
        self.show();
    }

    /// Erases the progress line of a terminal.
    pub(super) fn end(&self) {
        if self.is_terminal {
            eprint!("\r\x1b[2K");
        }
    }

    fn line(&self, ran: &CaseResult, verdict: Verdict) {
        let word = match verdict {
            Verdict::Pass => "pass",
            Verdict::Lenient => "lenient",
            Verdict::Fail => "fail",
            Verdict::Inconclusive => "inconclusive",
            Verdict::NotApplicable => "not applicable",
        };
        let time = ran.took.unwrap_or_default().as_secs_f64();
        self.end();
        let digits = self.total.to_string().len();
        eprintln!(
            "[{:digits$}/{}] {word:<12} {} ({time:.1} s)",
            self.done, self.total, ran.judgement.case.name
        );
    }

    fn show(&self) {
        if !self.is_terminal {
            return;
        }
        let failed = if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let line = format!("[{}/{}{failed}] {}", self.done, self.total, self.playing.join(", "));
        let stderr = std::io::stderr();
        let width = rustix::termios::tcgetwinsize(&stderr).map_or(WIDTH, |size| usize::from(size.ws_col));
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let mut stderr = stderr.lock();
        let _ = write!(stderr, "\r\x1b[2K{line}").and_then(|()| stderr.flush());
    }
}
