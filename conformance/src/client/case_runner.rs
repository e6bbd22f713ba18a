//! Plays one case to a client, action by action.

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
use super::line_encoder::LineEncoder;
use super::plan::{PlannedAction, PlannedAnswer, PlannedCall};
use super::relay::{AgentWriter, Ending};
use super::report_tracker::{Call, RecordedLine, ReportTracker};
use crate::recording::Recorder;
use crate::verdict::{LineExcerpt, Mismatch};

/// Number of frames that a report shows before a mismatch.
const BEFORE: usize = 3;
/// Time limit for the driver to start the agent.
const START: Duration = Duration::from_secs(30);
/// Time limit for the next report of the driver, while the suite waits for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for which the suite waits for signs of a crash of the driver, after the client has closed the
/// agent's stdin without an instruction.
const EXPLANATION_LIMIT: Duration = Duration::from_secs(2);

/// Reason why a case ended before its last action.
pub(super) enum EarlyEnd {
    /// A check failed, so that later actions cannot be judged.
    CheckFailed,
    /// The library lacks a feature that the case needs.
    Unsupported(String),
    /// The driver or the suite failed.
    Inconclusive(String),
}

/// Next line that the client has to send.
pub(super) enum ExpectedLine {
    /// The command of a call.
    Call(usize),
    /// The answer to a dialog.
    Answer(PlannedAnswer),
}

/// Runner of one case for a client.
pub(super) struct ClientCaseRunner<'a> {
    pub(super) spec: &'static Spec,
    pub(super) recorder: &'a Recorder,
    pub(super) driver: Driver,
    pub(super) inbox: UnboundedReceiver<Input>,
    /// Sender to the inbox, for the reading tasks.
    pub(super) inbox_sender: UnboundedSender<Input>,
    pub(super) patience: f64,
    /// `true` if the agent of the transcript ends during a run.
    pub(super) ends_mid_run: bool,
    /// Encoder of the agent's lines.
    pub(super) encoder: LineEncoder,
    /// `true` if the driver receives further calls before it has reported on earlier ones.
    pub(super) rush: bool,
    pub(super) checks: Checks,
    pub(super) tracker: ReportTracker,
    pub(super) agent_writer: Option<AgentWriter>,
    pub(super) ready: Option<DriverReady>,
    pub(super) expected_line: Option<ExpectedLine>,
    /// Commands that the library sent by itself and that have no answer yet: names and ids.
    pub(super) library_commands: Vec<(String, Option<Value>)>,
    /// Data of the last successful answer to each command.
    pub(super) last_answers: HashMap<String, Value>,
    /// Number of recorded lines and events so far.
    pub(super) records: usize,
    /// All lines so far, in order.
    pub(super) lines: Vec<(Direction, RecordedLine)>,
    /// `true` after the driver was instructed to close the connection.
    pub(super) closing: bool,
    /// `true` after the agent has closed its stdin.
    pub(super) agent_stdin_closed: bool,
    pub(super) client_closed: bool,
    pub(super) agent_ended: bool,
    /// `true` after the driver has reported that the connection is closed.
    pub(super) closed: bool,
    pub(super) driver_ended: bool,
}

impl ClientCaseRunner<'_> {
    /// Plays all actions of the plan, in order.
    pub(super) async fn play(
        &mut self,
        start: DriverStart,
        actions: &[PlannedAction],
    ) -> Result<(), EarlyEnd> {
        self.instruct_driver(&DriverInstruction::Start(start)).await?;
        if !self.wait(START, |runner| runner.ready.is_some() && runner.agent_writer.is_some()).await? {
            let what = if self.agent_writer.is_none() { "start the agent" } else { "report `ready`" };
            return Err(EarlyEnd::Inconclusive(format!(
                "the driver did not {what} within {} s",
                START.as_secs()
            )));
        }
        for step in actions {
            match step {
                PlannedAction::SendLine(line) => self.send_line(line).await?,
                PlannedAction::Call(call) => self.play_call(call).await?,
                PlannedAction::Answer(answer) => self.play_answer(answer).await?,
                PlannedAction::Close => self.play_close().await?,
                PlannedAction::End(code) => self.play_end(*code).await?,
                PlannedAction::SendPartialLine(text) => self.send_partial_line(text).await?,
                PlannedAction::WriteStderr(bytes) => self.play_stderr(*bytes).await?,
                PlannedAction::CloseStdin => self.play_close_stdin().await?,
            }
        }
        Ok(())
    }

    async fn play_call(&mut self, planned: &PlannedCall) -> Result<(), EarlyEnd> {
        if !self.rush && !self.agent_stdin_closed {
            self.wait_for_reports().await?;
        }
        let at = self.tracker.calls.len();
        let name = format!("c{}", at + 1);
        let starts = self.spec.command(&planned.command).is_some_and(|spec| spec.run == RunRole::Starts);
        let call = DriverCall::new(&name, &planned.command, planned.params.clone());
        self.tracker.calls.push(Call {
            name,
            planned: planned.clone(),
            starts_run: starts,
            sent: None,
            answer: None,
            late_error: None,
            settled: false,
            run_ended: false,
        });
        self.expected_line = Some(ExpectedLine::Call(at));
        self.instruct_driver(&DriverInstruction::Call(call)).await?;
        if self.agent_stdin_closed {
            return Ok(());
        }
        if !self.wait(self.limit(), |runner| runner.expected_line.is_none()).await? {
            let message = format!("the client did not send the called `{}`", planned.command);
            return Err(self.fail_expecting_line("commands", message, &planned.line));
        }
        Ok(())
    }

    async fn play_answer(&mut self, planned: &PlannedAnswer) -> Result<(), EarlyEnd> {
        self.wait_for_reports().await?;
        let sent_dialog = self.tracker.dialogs.iter().rev().find(|asked| asked.id == planned.id);
        let Some(dialog) = sent_dialog.and_then(|asked| asked.reported.clone()) else {
            return Err(EarlyEnd::Inconclusive(format!(
                "the transcript answers the unknown dialog {}",
                planned.id
            )));
        };
        let mut answer = DriverAnswer::new(dialog);
        answer.answer = planned.members.clone().map_or(Maybe::Null, Maybe::Value);
        self.expected_line = Some(ExpectedLine::Answer(planned.clone()));
        self.instruct_driver(&DriverInstruction::Answer(answer)).await?;
        if !self.wait(self.limit(), |runner| runner.expected_line.is_none()).await? {
            let message = "the client did not send the answer to the dialog".to_owned();
            return Err(self.fail_expecting_line("dialogs", message, &planned.line));
        }
        Ok(())
    }

    async fn play_close(&mut self) -> Result<(), EarlyEnd> {
        self.wait_for_reports().await?;
        self.wait_for_late_reports().await?;
        self.close().await?;
        if !self.wait(self.limit(), |runner| runner.client_closed).await? {
            return Err(self.fail_with_message(
                "end",
                "the client closed the connection, but not the agent's stdin".to_owned(),
            ));
        }
        Ok(())
    }

    async fn play_end(&mut self, code: i64) -> Result<(), EarlyEnd> {
        self.flush().await?;
        if !self.closing && !self.agent_stdin_closed {
            self.wait_for_reports().await?;
            if self.client_closed {
                return Err(self.unexpected_close());
            }
        }
        self.answer_library_commands(None).await?;
        self.flush().await?;
        let signal = i32::try_from(-code).ok().filter(|signal| *signal > 0);
        let ending = Ending { code: i32::try_from(code).unwrap_or(1), signal, stderr: String::new() };
        self.recorder.exit("exit", Some(code), None);
        self.records += 1;
        self.agent_ended = true;
        if let Some(writer) = self.agent_writer.take() {
            // If the client has closed its ends of the pipes, the agent's process may have ended.
            let _ = writer.end(ending).await;
        }
        if !self.closing {
            if !self.agent_stdin_closed {
                self.wait_for_reports().await?;
            }
            if !self.wait(self.limit(), |runner| runner.tracker.terminated.is_some()).await? {
                return Err(self.fail_with_message(
                    "end",
                    "the agent ended, but the driver did not report `terminated`".to_owned(),
                ));
            }
            // A client may end an agent that has stopped reading.
            if !self.agent_stdin_closed {
                self.judge_exit(code);
                self.wait_for_notices().await?;
            }
            self.close().await?;
        }
        if !self.wait(self.limit(), |runner| runner.closed && runner.driver_ended).await? {
            let message = if self.closed {
                "the driver reported `closed`, but did not end"
            } else {
                "the driver did not report `closed`"
            };
            return Err(self.fail_with_message("end", message.to_owned()));
        }
        self.judge_pending();
        Ok(())
    }

    async fn play_stderr(&mut self, bytes: usize) -> Result<(), EarlyEnd> {
        self.flush().await?;
        self.recorder.note(&format!("the agent writes {bytes} bytes to stderr"));
        if let Some(writer) = &mut self.agent_writer {
            // If the client does not read stderr, later checks on stdout fail.
            let _ = writer.write_stderr(bytes).await;
        }
        Ok(())
    }

    async fn play_close_stdin(&mut self) -> Result<(), EarlyEnd> {
        self.wait_for_reports().await?;
        self.recorder.note("the agent closes its stdin");
        self.agent_stdin_closed = true;
        if let Some(writer) = &mut self.agent_writer {
            let _ = writer.close_stdin().await;
        }
        if !self.wait(self.limit(), |runner| runner.client_closed).await? {
            return Err(EarlyEnd::Inconclusive("the stdin of the agent was not closed".to_owned()));
        }
        Ok(())
    }

    async fn close(&mut self) -> Result<(), EarlyEnd> {
        self.flush().await?;
        self.closing = true;
        self.instruct_driver(&DriverInstruction::Close(DriverClose::new())).await?;
        self.driver.close_stdin().await;
        Ok(())
    }

    async fn instruct_driver(&mut self, instruction: &DriverInstruction) -> Result<(), EarlyEnd> {
        match timeout(self.limit(), self.driver.send(instruction)).await {
            Ok(Ok(())) => Ok(()),
            Err(_) => {
                Err(self.fail_with_message("driver", "the driver did not read its instructions".to_owned()))
            }
            // The reason why the pipe is closed may still arrive.
            Ok(Err(error)) => {
                self.wait(self.limit(), |_| false).await?;
                Err(EarlyEnd::Inconclusive(format!("the driver did not read its instructions: {error}")))
            }
        }
    }

    pub(super) fn limit(&self) -> Duration {
        PATIENCE.mul_f64(self.patience)
    }

    /// Handles input until the condition is `true`. Returns `false` if no input arrives within the limit.
    pub(super) async fn wait(
        &mut self,
        limit: Duration,
        until: impl Fn(&Self) -> bool,
    ) -> Result<bool, EarlyEnd> {
        let last = Instant::now() + limit * 10;
        loop {
            if until(self) {
                return Ok(true);
            }
            self.flush().await?;
            let hung_up =
                self.client_closed && !self.closing && !self.agent_ended && !self.agent_stdin_closed;
            let deadline =
                last.min(Instant::now() + if hung_up { limit.min(EXPLANATION_LIMIT) } else { limit });
            match timeout_at(deadline, self.inbox.recv()).await {
                Ok(Some(input)) => self.handle_input(input).await?,
                Ok(None) | Err(_) if hung_up => return Err(self.unexpected_close()),
                Ok(None) | Err(_) => return Ok(false),
            }
        }
    }

    /// Fails the case: the client closed the agent's stdin without an instruction, and the driver is still
    /// running.
    fn unexpected_close(&mut self) -> EarlyEnd {
        self.fail_with_message("end", "the client closed the agent's stdin without an instruction".to_owned())
    }

    async fn handle_input(&mut self, input: Input) -> Result<(), EarlyEnd> {
        match input {
            Input::Agent(reader, writer) => {
                self.agent_writer = Some(writer);
                tokio::spawn(listen(reader, self.inbox_sender.clone()));
            }
            Input::Line(line) => return self.judge_line(line).await,
            Input::StdinClosed => self.client_closed = true,
            Input::Report(line) => return self.judge_report(&line),
            Input::BadReport(reason) => {
                return Err(self.fail_with_message("driver", format!("unreadable report: {reason}")));
            }
            Input::DriverEnded => {
                self.driver_ended = true;
                if !self.closed {
                    let last =
                        self.driver.last_stderr_line().map(|line| format!("; last line of stderr: {line}"));
                    let message =
                        format!("the driver ended before it reported `closed`{}", last.unwrap_or_default());
                    if self.ready.is_none() {
                        return Err(EarlyEnd::Inconclusive(message));
                    }
                    return Err(self.fail_with_message("driver", message));
                }
            }
        }
        Ok(())
    }

    /// Adds a line to the records.
    pub(super) fn record(&mut self, dir: Direction, line: FrameText) -> RecordedLine {
        let recorded = RecordedLine { record: self.records, line };
        self.records += 1;
        self.lines.push((dir, recorded.clone()));
        recorded
    }

    /// Returns the last lines before a record.
    pub(super) fn before(&self, record: usize) -> Vec<LineExcerpt> {
        let end = self.lines.partition_point(|(_, recorded)| recorded.record < record);
        let lines = &self.lines[end.saturating_sub(BEFORE)..end];
        lines
            .iter()
            .map(|(dir, recorded)| line_excerpt(recorded.record, *dir, recorded.line.as_str()))
            .collect()
    }

    /// Fails a check, and ends the case because its later actions cannot be judged.
    pub(super) fn fail_check(&mut self, check: &'static str, mismatch: Mismatch) -> EarlyEnd {
        self.checks.fail(check, mismatch);
        EarlyEnd::CheckFailed
    }

    /// Fails a check as [`fail_check`](Self::fail_check) does, with a description but no frame.
    pub(super) fn fail_with_message(&mut self, check: &'static str, message: String) -> EarlyEnd {
        let mismatch = self.plain_mismatch(message);
        self.fail_check(check, mismatch)
    }

    fn fail_expecting_line(&mut self, check: &'static str, message: String, line: &FrameText) -> EarlyEnd {
        let mut mismatch = self.plain_mismatch(message);
        mismatch.expected = Some(line_excerpt(self.records, Direction::C2s, line.as_str()));
        self.fail_check(check, mismatch)
    }

    pub(super) fn plain_mismatch(&self, message: String) -> Mismatch {
        Mismatch { message, before: self.before(self.records), ..Mismatch::default() }
    }

    /// Creates a mismatch for a line of the agent.
    pub(super) fn agent_line_mismatch(&self, message: String, recorded: &RecordedLine) -> Mismatch {
        let expected = Some(line_excerpt(recorded.record, Direction::S2c, recorded.line.as_str()));
        Mismatch { message, expected, before: self.before(recorded.record), ..Mismatch::default() }
    }

    pub(super) fn empty_line(&self) -> RecordedLine {
        RecordedLine { record: self.records, line: FrameText::from("") }
    }
}

/// Converts a line to its form in reports.
pub(super) fn line_excerpt(record: usize, dir: Direction, line: &str) -> LineExcerpt {
    LineExcerpt { record, dir, line: line.to_owned() }
}
