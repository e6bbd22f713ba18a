//! Judgement of the driver's reports, one by one.

use agentese::framing::FrameText;
use agentese::types::{
    Direction, DriverDialog, DriverError, DriverFailure, DriverReport, DriverResult, DriverRunEnd,
};
use serde_json::{Map, Value};

use super::compare::{Difference, brief, difference};
use super::ledger::{Failure, Said};
use super::spoken::ENVELOPE;
use super::stage::{Stage, Stop, shown};
use crate::verdict::Mismatch;

impl Stage<'_> {
    /// Judges a report of the driver.
    pub(super) fn told(&mut self, line: &FrameText) -> Result<(), Stop> {
        let report: DriverReport = match agentese::wire::decode(line.as_str()) {
            Ok(report) => report,
            Err(error) => {
                let shown: String = line.as_str().chars().take(200).collect();
                return Err(
                    self.off("driver", format!("what the driver reports is no report: {error}: {shown}"))
                );
            }
        };
        if self.closed {
            return Err(self.off("driver", format!("the driver reports behind `closed`: {}", line.as_str())));
        }
        self.checks.hold("driver");
        match report {
            DriverReport::Ready(ready) if self.ready.is_none() && ready.driver == 1 => {
                self.ready = Some(ready)
            }
            DriverReport::Ready(_) => {
                return Err(self.off("driver", "`ready` comes once, with `driver` 1".to_owned()));
            }
            DriverReport::Unsupported(what) => return Err(Stop::Unsupported(what.reason)),
            DriverReport::Event(event) => self.told_event(&Value::Object(event.event))?,
            DriverReport::Result(result) => self.told_result(&result)?,
            DriverReport::Error(error) => self.told_error(&error)?,
            DriverReport::Dialog(dialog) => self.told_dialog(dialog)?,
            DriverReport::RunEnd(end) => self.told_run_end(&end)?,
            DriverReport::Terminated(end) => {
                if !self.agent_ended && !self.deaf {
                    return Err(
                        self.off("end", "the end of the agent is reported, and it is there".to_owned())
                    );
                }
                self.checks.hold("end");
                self.ledger.terminated = Some(end);
            }
            DriverReport::Closed(_) if self.closing => self.closed = true,
            DriverReport::Closed(_) => {
                return Err(
                    self.off("driver", "`closed` is reported, and nobody closed the connection".to_owned())
                );
            }
        }
        Ok(())
    }

    fn told_event(&mut self, event: &Value) -> Result<(), Stop> {
        let at = self.ledger.reported;
        let Some(told) = self.ledger.events.get(at) else {
            let says = match self.ledger.events.iter().any(|told| difference(&told.event, event).is_none()) {
                true => format!("the event was reported more often than it came: {}", brief(event)),
                false => format!("the agent sent no such event: {}", brief(event)),
            };
            return Err(self.off("events", says));
        };
        self.ledger.reported += 1;
        let Some(found) = difference(&told.event, event) else {
            self.checks.hold("events");
            return Ok(());
        };
        let is = |other: &Value| difference(other, event).is_none();
        let says = match () {
            () if found.allowance.is_some() => found.says.clone(),
            () if self.ledger.events[at + 1..].iter().any(|later| is(&later.event)) => {
                "the event was not reported, or not in its place: a later one was".to_owned()
            }
            () if self.ledger.events[..at].iter().any(|earlier| is(&earlier.event)) => {
                "another event was reported once more in its place".to_owned()
            }
            () => found.says.clone(),
        };
        let mismatch = self.differs(Difference { says, ..found.clone() }, &told.said, event);
        self.judge("events", &found, mismatch)
    }

    fn told_result(&mut self, result: &DriverResult) -> Result<(), Stop> {
        let value = result.value.clone().unwrap_or(Value::Null);
        self.unsettled(&result.call)?;
        let Some(call) = self.ledger.call(&result.call) else { return Ok(()) };
        call.settled = true;
        let command = call.planned.command.clone();
        let Some(answered) = call.answered.clone() else {
            // The library also sends this command by itself, and the two calls may have swapped their
            // answers.
            if self.last.contains_key(&command) && self.is_own(&command) {
                return Ok(());
            }
            let says = format!("a result of `{command}` is reported, and the agent has not answered it");
            return Err(self.off("answers", says));
        };
        match &answered.outcome {
            Err(failure) => {
                let says = format!("`{command}` failed with {:?}, and a result is reported", failure.message);
                Err(self.failed("answers", self.owes(says, &answered.said)))
            }
            Ok(expected) => {
                let found = match difference(expected, &value) {
                    // An empty object in an answer is equivalent to no data.
                    Some(_) if value.is_null() && expected.as_object().is_some_and(Map::is_empty) => None,
                    Some(_) if self.is_own(&command) && self.is_own_answer(&command, &value) => None,
                    found => found,
                };
                let Some(found) = found else {
                    self.checks.hold("answers");
                    return Ok(());
                };
                let mismatch = self.differs(found.clone(), &answered.said, &value);
                self.judge("answers", &found, mismatch)
            }
        }
    }

    fn told_error(&mut self, error: &DriverError) -> Result<(), Stop> {
        let failure = Failure { message: error.message.clone(), code: error.code.as_option().copied() };
        if let Some(call) = self.ledger.call(&error.call)
            && call.settled
            && call.late.as_ref().is_some_and(|late| same_failure(late, &failure))
        {
            return Ok(());
        }
        self.unsettled(&error.call)?;
        let Some(at) = self.ledger.calls.iter().position(|call| call.name == error.call) else {
            return Ok(());
        };
        self.ledger.calls[at].settled = true;
        let command = self.ledger.calls[at].planned.command.clone();
        let stray = self.ledger.strays.iter().any(|it| !it.settled && same_failure(&it.failure, &failure));
        match self.ledger.calls[at].answered.clone() {
            // The call received a failure without an id that belongs to another call.
            Some(answered) if stray && answered.outcome.is_ok() => {
                self.failed_without_answer(at, &command, &failure, &error.kind)
            }
            Some(answered) => match &answered.outcome {
                Err(expected) if same_failure(expected, &failure) && error.kind == DriverFailure::Refused => {
                    self.checks.hold("answers");
                    Ok(())
                }
                _ if answered.late => Ok(()),
                expected => {
                    let said = match expected {
                        Ok(_) => "succeeded".to_owned(),
                        Err(expected) => format!("was refused with {:?}", expected.message),
                    };
                    let (kind, message) = (&error.kind, &error.message);
                    let says = format!("`{command}` {said}, and a failure is reported: {kind}, {message:?}");
                    Err(self.failed("answers", self.owes(says, &answered.said)))
                }
            },
            None => self.failed_without_answer(at, &command, &failure, &error.kind),
        }
    }

    /// Judges a failed call whose id is in no failure of the agent.
    fn failed_without_answer(
        &mut self,
        at: usize,
        command: &str,
        failure: &Failure,
        kind: &DriverFailure,
    ) -> Result<(), Stop> {
        let mut strays: Vec<_> = self.ledger.strays.iter_mut().filter(|stray| !stray.settled).collect();
        strays.sort_by_key(|stray| stray.call != at);
        if let Some(stray) = strays.into_iter().find(|stray| same_failure(&stray.failure, failure)) {
            stray.settled = true;
            let (owner, said) = (stray.call, stray.said.clone());
            if owner == at {
                self.checks.hold("attribution");
            } else {
                let owner = self.ledger.calls[owner].name.clone();
                let says = format!("the failure was given to `{command}`; `{owner}` is older and waits");
                self.checks.fail("attribution", self.owes(says, &said));
            }
            return Ok(());
        }
        if !self.agent_ended && !self.closing && !self.deaf {
            let says = format!(
                "`{command}` is reported as failed, and the agent has not answered: {}",
                failure.message
            );
            return Err(self.off("answers", says));
        }
        match kind {
            DriverFailure::Terminated => self.checks.hold("end"),
            // The client could not send the call.
            DriverFailure::Failed if self.deaf => self.checks.hold("end"),
            other => {
                let says = format!("`{command}` waited when the connection ended, and failed as {other}");
                self.checks.fail("end", self.plain(says));
            }
        }
        Ok(())
    }

    fn told_dialog(&mut self, dialog: DriverDialog) -> Result<(), Stop> {
        let mut params = dialog.params;
        // Libraries that pass on the whole frame include its id.
        let id = if self.spec.framing_is_flat() { params.get("id").cloned() } else { None };
        if self.spec.framing_is_flat() {
            ENVELOPE.iter().for_each(|name| drop(params.shift_remove(*name)));
        }
        let params = Value::Object(params);
        let open = |asked: &super::ledger::Asked| {
            let right = id.as_ref().is_none_or(|id| *id == asked.id);
            right && asked.reported.is_none() && asked.method == dialog.method
        };
        let mut closest: Option<(Difference, Said)> = None;
        for asked in self.ledger.asked.iter_mut().filter(|asked| open(asked)) {
            match difference(&asked.params, &params).filter(|found| found.allowance.is_none()) {
                None => {
                    asked.reported = Some(dialog.dialog);
                    let check = if asked.answered { "dialogs" } else { "notices" };
                    self.checks.hold(check);
                    return Ok(());
                }
                Some(found) => {
                    closest.get_or_insert((found, asked.said.clone()));
                }
            }
        }
        let Some((found, said)) = closest else {
            let says = format!("`{}` is reported once more than the agent asked it", dialog.method);
            return Err(self.off("dialogs", says));
        };
        let mismatch = self.differs(found, &said, &params);
        Err(self.failed("dialogs", mismatch))
    }

    fn told_run_end(&mut self, end: &DriverRunEnd) -> Result<(), Stop> {
        let over = self.agent_ended || self.closing || self.deaf;
        let Some(call) = self.ledger.call(&end.call) else {
            return Err(
                self.off("driver", format!("the driver reports of a call that there is not: {}", end.call))
            );
        };
        let again = std::mem::replace(&mut call.run_over, true);
        let command = call.planned.command.clone();
        let refused = call.late.is_some() || call.answered.as_ref().is_some_and(|it| it.outcome.is_err());
        let says = match end.error.as_option() {
            _ if again => Some("ended once more".to_owned()),
            None => None,
            Some(DriverFailure::Refused) if refused => None,
            Some(DriverFailure::Terminated) if over => None,
            Some(kind) => Some(format!("failed as {kind}: {:?}", end.message.as_deref().unwrap_or_default())),
        };
        match says {
            None => self.checks.hold("runs"),
            Some(says) => self.checks.fail("runs", self.plain(format!("the run of `{command}` {says}"))),
        }
        Ok(())
    }

    /// Fails if the call does not exist or has already been reported.
    fn unsettled(&mut self, name: &str) -> Result<(), Stop> {
        match self.ledger.call(name) {
            None => {
                Err(self.off("driver", format!("the driver reports of a call that there is not: {name}")))
            }
            Some(call) if call.settled => {
                let says = format!("the end of `{}` is reported once more", call.planned.command);
                Err(self.off("answers", says))
            }
            Some(_) => Ok(()),
        }
    }

    fn is_own(&self, command: &str) -> bool {
        let own = self.ready.as_ref().and_then(|ready| ready.sends.as_ref());
        own.is_some_and(|own| own.iter().any(|name| name == command))
    }

    /// Returns `true` if the value is the answer to commands of the library itself.
    fn is_own_answer(&self, command: &str, value: &Value) -> bool {
        self.own_data(command).is_some_and(|data| difference(&data, value).is_none())
    }

    /// Records an allowed difference; any other difference ends the case.
    fn judge(&mut self, check: &'static str, found: &Difference, mismatch: Mismatch) -> Result<(), Stop> {
        if let Some(allowance) = found.allowance {
            self.checks.allow(check, allowance.name(), mismatch);
            return Ok(());
        }
        Err(self.failed(check, mismatch))
    }

    fn differs(&self, found: Difference, said: &Said, value: &Value) -> Mismatch {
        Mismatch {
            says: found.says,
            path: found.path,
            expected: Some(shown(said.record, Direction::S2c, said.line.as_str())),
            found: Some(shown(said.record, Direction::S2c, &value.to_string())),
            before: self.before(said.record),
        }
    }
}

fn same_failure(ours: &Failure, theirs: &Failure) -> bool {
    ours.message == theirs.message && (theirs.code.is_none() || ours.code == theirs.code)
}
