//! Waits for the driver's missing reports, and judges the ones that are missing at the end.

use super::ledger::Asked;
use super::stage::{Stage, Stop};

impl Stage<'_> {
    /// Waits until all events, answers and questions have been reported.
    pub(super) async fn settle(&mut self) -> Result<(), Stop> {
        let done = |stage: &Self| {
            let ledger = &stage.ledger;
            ledger.event_owed().is_none() && ledger.answer_owed().is_none() && ledger.dialog_owed().is_none()
        };
        if !self.wait(self.limit(), done).await? {
            let ledger = &self.ledger;
            let (check, what, said) = if let Some(told) = ledger.event_owed() {
                ("events", "the event was not reported".to_owned(), told.said.clone())
            } else if let Some((call, answered)) =
                ledger.answer_owed().and_then(|it| Some((it, it.answered.as_ref()?)))
            {
                let says = format!("the end of `{}` was not reported", call.planned.command);
                ("answers", says, answered.said.clone())
            } else {
                let asked = ledger.dialog_owed().map(|asked| asked.said.clone());
                ("dialogs", "the dialog was not reported".to_owned(), asked.unwrap_or(self.nothing()))
            };
            return Err(self.failed(check, self.owes(what, &said)));
        }
        if !self.agent_ended && !self.wait(self.limit(), |stage| stage.ledger.stray_owed().is_none()).await? {
            let says = "the failure has no id, and no call failed with it".to_owned();
            let said = self.ledger.stray_owed().map(|stray| stray.said.clone());
            self.checks.fail("attribution", self.owes(says, &said.unwrap_or(self.nothing())));
            self.ledger.strays.iter_mut().for_each(|stray| stray.settled = true);
        }
        Ok(())
    }

    /// Waits for reports that may come late: notices, and the ends of runs.
    pub(super) async fn settle_rest(&mut self) -> Result<(), Stop> {
        self.settle_notices().await?;
        let runs = self.ready.as_ref().is_some_and(|ready| ready.runs == Some(true)) && !self.cut;
        if runs && !self.wait(self.limit(), |stage| stage.ledger.run_owed().is_none()).await? {
            let owed = self.ledger.run_owed().map(|call| call.planned.command.clone()).unwrap_or_default();
            self.checks.fail("runs", self.plain(format!("the end of the run of `{owed}` was not reported")));
        }
        Ok(())
    }

    pub(super) async fn settle_notices(&mut self) -> Result<(), Stop> {
        if !self.wait(self.limit(), |stage| stage.ledger.notice_owed().is_none()).await? {
            let said = self.ledger.notice_owed().map(|asked: &Asked| asked.said.clone());
            let says = "the notice was not reported".to_owned();
            self.checks.fail("notices", self.owes(says, &said.unwrap_or(self.nothing())));
        }
        Ok(())
    }

    pub(super) fn judge_exit(&mut self, code: i64) {
        let Some(end) = &self.ledger.terminated else { return };
        let told = end.code.as_option().copied().or(end.signal.as_option().map(|signal| -signal));
        match told == Some(code) {
            true => self.checks.hold("exit-code"),
            false => {
                let told = told.map_or("none".to_owned(), |told| told.to_string());
                let says =
                    format!("the agent ended with {code} (negative: a signal), and {told} was reported");
                self.checks.fail("exit-code", self.plain(says));
            }
        }
    }

    /// Checks that calls without an answer have failed.
    pub(super) fn judge_pending(&mut self) {
        if let Some(call) = self.ledger.calls.iter().find(|call| !call.settled) {
            let says = format!(
                "`{}` waited when the connection ended, and nothing was reported",
                call.planned.command
            );
            self.checks.fail("end", self.plain(says));
        }
        self.checks.hold("end");
    }
}
