//! A case with the sides swapped, played move by move.

use std::collections::HashMap;
use std::time::Duration;

use agentese::framing::FrameText;
use agentese::spec::{RunRole, Spec};
use agentese::types::{
    Direction, DriverAnswer, DriverCall, DriverClose, DriverInstruction, DriverReady, DriverStart,
};
use agentese::wire::Maybe;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, timeout, timeout_at};

use super::checks::Checks;
use super::driver::Driver;
use super::input::{Input, listen};
use super::ledger::{Call, Ledger, Said};
use super::manner::Manner;
use super::plan::{Move, PlannedAnswer, PlannedCall};
use super::relay::{Ending, Mouth};
use crate::recording::Recorder;
use crate::verdict::{Mismatch, Shown};

/// Number of frames to show before a mismatch.
const BEFORE: usize = 3;
/// Time limit for the driver to start the agent.
const START: Duration = Duration::from_secs(30);
/// Time limit for the driver's next report during a wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time limit for an explanation after the client has closed the agent's stdin: the driver may have crashed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Reason why a case ended before its last move.
pub(super) enum Stop {
    /// A check failed, so that later moves cannot be judged.
    Judged,
    /// The library lacks a feature that the case needs.
    Unsupported(String),
    /// The driver or the suite failed.
    Unclear(String),
}

/// Next line that the client has to send.
pub(super) enum Awaited {
    /// The command of a call.
    Call(usize),
    /// The answer to a dialog.
    Answer(PlannedAnswer),
}

/// A running case.
pub(super) struct Stage<'a> {
    pub(super) spec: &'static Spec,
    pub(super) recorder: &'a Recorder,
    pub(super) driver: Driver,
    pub(super) inbox: UnboundedReceiver<Input>,
    /// Sender of the inbox, for the tasks that read.
    pub(super) readers: UnboundedSender<Input>,
    pub(super) patience: f64,
    /// `true` if the agent of the transcript ends during a run.
    pub(super) cut: bool,
    /// Spelling of the agent's lines.
    pub(super) manner: Manner,
    /// `true` if calls do not wait for the client's reports.
    pub(super) rush: bool,
    pub(super) checks: Checks,
    pub(super) ledger: Ledger,
    pub(super) mouth: Option<Mouth>,
    pub(super) ready: Option<DriverReady>,
    pub(super) awaited: Option<Awaited>,
    /// Commands of the library itself without an answer so far: names and ids.
    pub(super) owed: Vec<(String, Option<Value>)>,
    /// Last successful answer to each command.
    pub(super) last: HashMap<String, Value>,
    /// Number of records.
    pub(super) records: usize,
    /// All lines, in order.
    pub(super) lines: Vec<(Direction, Said)>,
    /// `true` after the driver's instruction to close.
    pub(super) closing: bool,
    /// `true` after the agent has closed its stdin.
    pub(super) deaf: bool,
    pub(super) client_closed: bool,
    pub(super) agent_ended: bool,
    /// `true` after the driver's report that everything is closed.
    pub(super) closed: bool,
    pub(super) driver_ended: bool,
}

impl Stage<'_> {
    /// Plays all moves.
    pub(super) async fn play(&mut self, start: DriverStart, moves: &[Move]) -> Result<(), Stop> {
        self.tell(&DriverInstruction::Start(start)).await?;
        if !self.wait(START, |stage| stage.ready.is_some() && stage.mouth.is_some()).await? {
            let what = if self.mouth.is_none() { "started the agent" } else { "reported `ready`" };
            return Err(Stop::Unclear(format!("the driver has not {what} within {} s", START.as_secs())));
        }
        for step in moves {
            match step {
                Move::Say(line) => self.say(line).await?,
                Move::Call(call) => self.calls(call).await?,
                Move::Answer(answer) => self.answers(answer).await?,
                Move::Close => self.closes().await?,
                Move::End(code) => self.ends(*code).await?,
                Move::Torn(text) => self.tear(text).await?,
                Move::Noise(bytes) => self.floods(*bytes).await?,
                Move::Deafen => self.deafens().await?,
            }
        }
        Ok(())
    }

    async fn calls(&mut self, planned: &PlannedCall) -> Result<(), Stop> {
        if !self.rush && !self.deaf {
            self.settle().await?;
        }
        let at = self.ledger.calls.len();
        let name = format!("c{}", at + 1);
        let starts = self.spec.command(&planned.command).is_some_and(|spec| spec.run == RunRole::Starts);
        let call = DriverCall::new(&name, &planned.command, planned.params.clone());
        self.ledger.calls.push(Call {
            name,
            planned: planned.clone(),
            starts,
            sent: None,
            answered: None,
            late: None,
            settled: false,
            run_over: false,
        });
        self.awaited = Some(Awaited::Call(at));
        self.tell(&DriverInstruction::Call(call)).await?;
        if self.deaf {
            return Ok(());
        }
        if !self.wait(self.limit(), |stage| stage.awaited.is_none()).await? {
            let says = format!("`{}` was called, and the client sent nothing", planned.command);
            return Err(self.off_expecting("commands", says, &planned.line));
        }
        Ok(())
    }

    async fn answers(&mut self, planned: &PlannedAnswer) -> Result<(), Stop> {
        self.settle().await?;
        let asked = self.ledger.asked.iter().rev().find(|asked| asked.id == planned.id);
        let Some(dialog) = asked.and_then(|asked| asked.reported.clone()) else {
            return Err(Stop::Unclear(format!("the transcript answers {}, which nobody asked", planned.id)));
        };
        let mut answer = DriverAnswer::new(dialog);
        answer.answer = planned.members.clone().map_or(Maybe::Null, Maybe::Value);
        self.awaited = Some(Awaited::Answer(planned.clone()));
        self.tell(&DriverInstruction::Answer(answer)).await?;
        if !self.wait(self.limit(), |stage| stage.awaited.is_none()).await? {
            let says = "the dialog was answered, and the client sent nothing".to_owned();
            return Err(self.off_expecting("dialogs", says, &planned.line));
        }
        Ok(())
    }

    async fn closes(&mut self) -> Result<(), Stop> {
        self.settle().await?;
        self.settle_rest().await?;
        self.close().await?;
        if !self.wait(self.limit(), |stage| stage.client_closed).await? {
            return Err(
                self.off("end", "the connection was closed, and the agent's stdin was not".to_owned())
            );
        }
        Ok(())
    }

    async fn ends(&mut self, code: i64) -> Result<(), Stop> {
        self.flush().await?;
        if !self.closing && !self.deaf {
            self.settle().await?;
            if self.client_closed {
                return Err(self.hung_up());
            }
        }
        self.pay_all(None).await?;
        self.flush().await?;
        let signal = i32::try_from(-code).ok().filter(|signal| *signal > 0);
        let ending = Ending { code: i32::try_from(code).unwrap_or(1), signal, stderr: String::new() };
        self.recorder.exit("exit", Some(code), None);
        self.records += 1;
        self.agent_ended = true;
        if let Some(mouth) = self.mouth.take() {
            // If the client has closed its end of the pipes, the agent's process may be gone.
            let _ = mouth.end(ending).await;
        }
        if !self.closing {
            if !self.deaf {
                self.settle().await?;
            }
            if !self.wait(self.limit(), |stage| stage.ledger.terminated.is_some()).await? {
                return Err(self.off("end", "the agent ended, and `terminated` was not reported".to_owned()));
            }
            // A client may end an agent that no longer reads.
            if !self.deaf {
                self.judge_exit(code);
                self.settle_notices().await?;
            }
            self.close().await?;
        }
        if !self.wait(self.limit(), |stage| stage.closed && stage.driver_ended).await? {
            let says = if self.closed {
                "`closed` was reported, and the driver did not end"
            } else {
                "`closed` was not reported"
            };
            return Err(self.off("end", says.to_owned()));
        }
        self.judge_pending();
        Ok(())
    }

    async fn floods(&mut self, bytes: usize) -> Result<(), Stop> {
        self.flush().await?;
        self.recorder.note(&format!("the agent writes {bytes} bytes to stderr"));
        if let Some(mouth) = &mut self.mouth {
            // A client that does not read stderr fails later checks, on stdout.
            let _ = mouth.noise(bytes).await;
        }
        Ok(())
    }

    async fn deafens(&mut self) -> Result<(), Stop> {
        self.settle().await?;
        self.recorder.note("the agent closes its stdin");
        self.deaf = true;
        if let Some(mouth) = &mut self.mouth {
            let _ = mouth.deafen().await;
        }
        if !self.wait(self.limit(), |stage| stage.client_closed).await? {
            return Err(Stop::Unclear("the agent did not close its stdin".to_owned()));
        }
        Ok(())
    }

    async fn close(&mut self) -> Result<(), Stop> {
        self.flush().await?;
        self.closing = true;
        self.tell(&DriverInstruction::Close(DriverClose::new())).await?;
        self.driver.hang_up().await;
        Ok(())
    }

    async fn tell(&mut self, instruction: &DriverInstruction) -> Result<(), Stop> {
        match timeout(self.limit(), self.driver.tell(instruction)).await {
            Ok(Ok(())) => Ok(()),
            Err(_) => Err(self.off("driver", "the driver does not read its instructions".to_owned())),
            // The reason for the closed pipe may still arrive.
            Ok(Err(error)) => {
                self.wait(self.limit(), |_| false).await?;
                Err(Stop::Unclear(format!("the driver does not read its instructions: {error}")))
            }
        }
    }

    pub(super) fn limit(&self) -> Duration {
        PATIENCE.mul_f64(self.patience)
    }

    /// Handles input until the condition is `true`. Returns `false` if nothing arrived within the limit.
    pub(super) async fn wait(
        &mut self,
        limit: Duration,
        until: impl Fn(&Self) -> bool,
    ) -> Result<bool, Stop> {
        let last = Instant::now() + limit * 10;
        loop {
            if until(self) {
                return Ok(true);
            }
            self.flush().await?;
            let hung_up = self.client_closed && !self.closing && !self.agent_ended && !self.deaf;
            let deadline = last.min(Instant::now() + if hung_up { limit.min(LAST_WORDS) } else { limit });
            match timeout_at(deadline, self.inbox.recv()).await {
                Ok(Some(input)) => self.take(input).await?,
                Ok(None) | Err(_) if hung_up => return Err(self.hung_up()),
                Ok(None) | Err(_) => return Ok(false),
            }
        }
    }

    /// Fails the case: the client closed the agent's stdin without an instruction, and the driver is still
    /// running.
    fn hung_up(&mut self) -> Stop {
        self.off("end", "the client closed the agent's stdin, and nobody asked it to".to_owned())
    }

    async fn take(&mut self, input: Input) -> Result<(), Stop> {
        match input {
            Input::Agent(ears, mouth) => {
                self.mouth = Some(mouth);
                tokio::spawn(listen(ears, self.readers.clone()));
            }
            Input::Heard(heard) => return self.heard(heard).await,
            Input::HeardEnd => self.client_closed = true,
            Input::Report(line) => return self.told(&line),
            Input::BadReport(reason) => {
                return Err(self.off("driver", format!("a report cannot be read: {reason}")));
            }
            Input::DriverEnd => {
                self.driver_ended = true;
                if !self.closed {
                    let last = self.driver.last_words().map(|line| format!(", last on its stderr: {line}"));
                    let says =
                        format!("the driver ended before it reported `closed`{}", last.unwrap_or_default());
                    if self.ready.is_none() {
                        return Err(Stop::Unclear(says));
                    }
                    return Err(self.off("driver", says));
                }
            }
        }
        Ok(())
    }

    /// Adds a line to the records.
    pub(super) fn record(&mut self, dir: Direction, line: FrameText) -> Said {
        let said = Said { record: self.records, line };
        self.records += 1;
        self.lines.push((dir, said.clone()));
        said
    }

    /// Returns the last lines before a record.
    pub(super) fn before(&self, record: usize) -> Vec<Shown> {
        let end = self.lines.partition_point(|(_, said)| said.record < record);
        let lines = &self.lines[end.saturating_sub(BEFORE)..end];
        lines.iter().map(|(dir, said)| shown(said.record, *dir, said.line.as_str())).collect()
    }

    /// Fails a check, so that later moves cannot be judged.
    pub(super) fn failed(&mut self, check: &'static str, mismatch: Mismatch) -> Stop {
        self.checks.fail(check, mismatch);
        Stop::Judged
    }

    /// Fails a check as [`Stage::failed`] does, with nothing but a description.
    pub(super) fn off(&mut self, check: &'static str, says: String) -> Stop {
        let mismatch = self.plain(says);
        self.failed(check, mismatch)
    }

    fn off_expecting(&mut self, check: &'static str, says: String, line: &FrameText) -> Stop {
        let mut mismatch = self.plain(says);
        mismatch.expected = Some(shown(self.records, Direction::C2s, line.as_str()));
        self.failed(check, mismatch)
    }

    pub(super) fn plain(&self, says: String) -> Mismatch {
        Mismatch { says, before: self.before(self.records), ..Mismatch::default() }
    }

    /// Creates a mismatch for a line of the agent.
    pub(super) fn owes(&self, says: String, said: &Said) -> Mismatch {
        let expected = Some(shown(said.record, Direction::S2c, said.line.as_str()));
        Mismatch { says, expected, before: self.before(said.record), ..Mismatch::default() }
    }

    pub(super) fn nothing(&self) -> Said {
        Said { record: self.records, line: FrameText::from("") }
    }
}

/// Converts a line to its form in reports.
pub(super) fn shown(record: usize, dir: Direction, line: &str) -> Shown {
    Shown { record, dir, line: line.to_owned() }
}
