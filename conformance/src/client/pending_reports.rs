//! Waits for reports that the driver has not made yet, and judges reports that are missing at the end.

use super::case_runner::{ClientCaseRunner, EarlyEnd};
use super::report_tracker::SentDialog;

impl ClientCaseRunner<'_> {
    /// Waits until all events, answers and questions have been reported.
    pub(super) async fn wait_for_reports(&mut self) -> Result<(), EarlyEnd> {
        let done = |runner: &Self| {
            let tracker = &runner.tracker;
            tracker.unreported_event().is_none()
                && tracker.unreported_answer().is_none()
                && tracker.unreported_dialog().is_none()
        };
        if !self.wait(self.limit(), done).await? {
            let tracker = &self.tracker;
            let (check, what, recorded) = if let Some(sent_event) = tracker.unreported_event() {
                ("events", "the event was not reported".to_owned(), sent_event.recorded.clone())
            } else if let Some((call, answer)) =
                tracker.unreported_answer().and_then(|it| Some((it, it.answer.as_ref()?)))
            {
                let message = format!("the end of `{}` was not reported", call.planned.command);
                ("answers", message, answer.recorded.clone())
            } else {
                let sent_dialog = tracker.unreported_dialog().map(|asked| asked.recorded.clone());
                (
                    "dialogs",
                    "the dialog was not reported".to_owned(),
                    sent_dialog.unwrap_or(self.empty_line()),
                )
            };
            return Err(self.fail_check(check, self.agent_line_mismatch(what, &recorded)));
        }
        if !self.agent_ended
            && !self.wait(self.limit(), |runner| runner.tracker.unreported_error().is_none()).await?
        {
            let message = "the failure without an id was not reported for any call".to_owned();
            let recorded = self.tracker.unreported_error().map(|stray| stray.recorded.clone());
            self.checks.fail(
                "attribution",
                self.agent_line_mismatch(message, &recorded.unwrap_or(self.empty_line())),
            );
            self.tracker.unattributed_errors.iter_mut().for_each(|stray| stray.settled = true);
        }
        Ok(())
    }

    /// Waits for reports that may arrive late: notices, and the ends of runs.
    pub(super) async fn wait_for_late_reports(&mut self) -> Result<(), EarlyEnd> {
        self.wait_for_notices().await?;
        let runs = self.ready.as_ref().is_some_and(|ready| ready.runs == Some(true)) && !self.ends_mid_run;
        if runs && !self.wait(self.limit(), |runner| runner.tracker.unreported_run_end().is_none()).await? {
            let owed = self
                .tracker
                .unreported_run_end()
                .map(|call| call.planned.command.clone())
                .unwrap_or_default();
            self.checks.fail(
                "runs",
                self.plain_mismatch(format!("the end of the run of `{owed}` was not reported")),
            );
        }
        Ok(())
    }

    pub(super) async fn wait_for_notices(&mut self) -> Result<(), EarlyEnd> {
        if !self.wait(self.limit(), |runner| runner.tracker.unreported_notice().is_none()).await? {
            let recorded =
                self.tracker.unreported_notice().map(|dialog: &SentDialog| dialog.recorded.clone());
            let message = "the notice was not reported".to_owned();
            self.checks
                .fail("notices", self.agent_line_mismatch(message, &recorded.unwrap_or(self.empty_line())));
        }
        Ok(())
    }

    pub(super) fn judge_exit(&mut self, code: i64) {
        let Some(end) = &self.tracker.terminated else { return };
        let told = end.code.as_option().copied().or(end.signal.as_option().map(|signal| -signal));
        match told == Some(code) {
            true => self.checks.hold("exit-code"),
            false => {
                let told = told.map_or("none".to_owned(), |told| told.to_string());
                let message = format!(
                    "the agent ended with {code} (negative: a signal), but the driver reported {told}"
                );
                self.checks.fail("exit-code", self.plain_mismatch(message));
            }
        }
    }

    /// Checks that the driver has reported the end of every call.
    pub(super) fn judge_pending(&mut self) {
        if let Some(call) = self.tracker.calls.iter().find(|call| !call.settled) {
            let message = format!(
                "`{}` was pending when the connection ended, but the driver reported no end",
                call.planned.command
            );
            self.checks.fail("end", self.plain_mismatch(message));
        }
        self.checks.hold("end");
    }
}
