//! Waits of a scenario.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentese::types::{
    Direction, ModelRequest, ModelRequestStep, QuietStep, TranscriptRecord, WaitFrom, WaitStep,
};
use serde_json::Value;

use super::steps::{CaseRunner, limit};
use crate::matching::Pattern;
use crate::matching::near::near_miss;
use crate::matching::path;
use crate::recording::Recorder;
use crate::suggestions::counted;

/// Time without output after which a waiting case releases its slot. A wait also fails after this time of
/// silence if an answer had an unknown id.
const SILENCE: Duration = Duration::from_secs(3);

impl CaseRunner<'_> {
    /// Waits until the agent sends its ready frame.
    pub(super) async fn wait_for_ready(&mut self, pattern: &Pattern, limit: Duration) -> Result<(), String> {
        let found = await_frame(&self.recorder, pattern, self.cursor, limit).await;
        let (at, _) = found.inspect_err(|_| self.record_timeout())?;
        self.cursor = at + 1;
        Ok(())
    }

    /// Waits until the model has received a number of requests.
    pub(super) async fn wait_for_request(&mut self, step: &ModelRequestStep) -> Result<(), String> {
        let Some(model) = self.model else { return Err("the case has no model".to_owned()) };
        let wanted = usize::try_from(step.model_asked).unwrap_or(usize::MAX);
        let fits = step.fits.as_ref().map(|fits| self.pattern(fits)).transpose()?;
        let counted_so_far = || {
            let fits = |request: &ModelRequest| {
                let value = serde_json::to_value(request).unwrap_or_default();
                fits.as_ref().is_none_or(|fits| fits.fits(&value))
            };
            model.requests().into_iter().filter(fits).count()
        };
        let mut changes = model.changes();
        let come = async {
            while counted_so_far() < wanted {
                // The model exists as long as this receiver, so the wait cannot fail.
                let _ = changes.changed().await;
            }
        };
        let limit = self.scaled(limit(step.timeout_ms));
        let come = tokio::time::timeout(limit, come).await;
        come.map_err(|_| {
            self.record_timeout();
            let requests = counted(wanted, "request", "requests");
            let like = step.fits.as_ref().map(|fits| format!(" like {fits}")).unwrap_or_default();
            let (came, limit) = (counted_so_far(), limit.as_millis());
            format!("the model received {came} of {requests}{like} within {limit} ms")
        })
    }

    /// Waits until the agent has sent nothing for some time, measured from now on.
    pub(super) async fn wait_for_quiet(&mut self, step: &QuietStep) {
        let pause = self.scaled(Duration::from_millis(step.quiet_ms));
        let limit = self.scaled(limit(step.timeout_ms));
        let start = Instant::now();
        while start.elapsed() < limit && self.recorder.progress().1 {
            let last = self.recorder.last_received().map_or(start, |last| last.max(start));
            let silent = last.elapsed();
            if silent >= pause {
                break;
            }
            let mut changes = self.recorder.changes();
            let _ = tokio::time::timeout(pause - silent, changes.changed()).await;
        }
        if step.skip == Some(true) {
            self.cursor = self.recorder.progress().0;
        }
    }

    /// Waits for a frame.
    pub(super) async fn wait(&mut self, wait: &WaitStep) -> Result<(), String> {
        let pattern = self.pattern(&wait.wait)?;
        let limit = self.scaled(limit(wait.timeout_ms));
        let from_start = wait.from == Some(WaitFrom::Start);
        let mut position = if from_start { 0 } else { self.cursor };
        let mut found = Value::Null;
        let deadline = Instant::now() + limit;
        for _ in 0..wait.count.unwrap_or(1) {
            let left = deadline.saturating_duration_since(Instant::now());
            let wanted = self.variables.value(&wait.wait);
            let looked = self.find_frame(&pattern, &wanted, position, left).await;
            let (at, frame) = looked.map_err(|reason| {
                self.record_timeout();
                let after = self.last_command().map(|name| format!(" after `{name}`")).unwrap_or_default();
                let (pattern, limit) = (&wait.wait, limit.as_millis());
                let waited = format!("no frame like {pattern} within {limit} ms{after}: {reason}");
                let pattern = self.variables.value(&wait.wait);
                match self.near_miss_text(&pattern, position).or_else(|| self.unanswered(&pattern)) {
                    Some(near) => format!("{near}: {waited}"),
                    None => waited,
                }
            })?;
            (position, found) = (at + 1, frame);
        }
        if !from_start && wait.peek != Some(true) {
            self.cursor = position;
        }
        self.capture(wait.capture.as_ref(), &found)?;
        self.found = found;
        Ok(())
    }

    /// Finds the first frame from a position on that fits. Fails before the time limit if an answer has an
    /// unknown id and no further output follows for a while.
    async fn find_frame(
        &mut self,
        pattern: &Pattern,
        wanted: &Value,
        from: usize,
        limit: Duration,
    ) -> Result<(usize, Value), String> {
        let begin = Instant::now();
        let silence = self.scaled(SILENCE);
        loop {
            let left = limit.saturating_sub(begin.elapsed());
            let step = left.min(silence);
            let found = await_frame(&self.recorder, pattern, from, step).await;
            let goes_on = self.recorder.progress().1 && step < left;
            if found.is_err() && self.has_other_answer(wanted, from) {
                return Err("the request was answered differently".to_owned());
            }
            if found.is_ok() || !goes_on {
                self.slot.reacquire();
                return found;
            }
            let last = self.recorder.last_received();
            // An idle agent needs no processor time, so the case releases its slot.
            if last.is_some_and(|last| last.elapsed() >= silence) {
                self.slot.release();
            } else {
                self.slot.reacquire();
            }
            let is_silent = wanted.get("id").is_some() && last.is_none_or(|last| last.elapsed() >= silence);
            let misnamed =
                |near: String| near.starts_with("`id` is ") && !near.starts_with("`id` is missing");
            if is_silent && self.near_miss_text(wanted, from).is_some_and(misnamed) {
                return Err("no further frames".to_owned());
            }
        }
    }

    /// Returns `true` if the pattern is about an answer of JSON-RPC, and the request has an answer already. A second one
    /// will not follow.
    fn has_other_answer(&self, wanted: &Value, from: usize) -> bool {
        let Some(id) = wanted.get("id").filter(|id| id.is_string()) else { return false };
        let is_answer = |frame: &Value| {
            frame.get("result").or(frame.get("error")).is_some() && frame.get("id") == Some(id)
        };
        let is_wanted = wanted.get("result").or(wanted.get("error")).is_some();
        is_wanted && self.recorder.find(from, is_answer).is_some()
    }

    /// Records a timeout, if the agent was still running when the wait failed.
    fn record_timeout(&mut self) {
        self.wait_timed_out = self.recorder.progress().1;
    }

    /// Describes how a frame that almost fits the pattern differs from it.
    fn near_miss_text(&self, pattern: &Value, from: usize) -> Option<String> {
        // An answer to another command is not a near miss.
        let sent: Vec<Value> = self.sent().iter().filter_map(|frame| frame.get("id").cloned()).collect();
        let near = std::cell::RefCell::new(None);
        self.recorder.find(from, |frame| {
            let is_other = frame.get("id").is_some_and(|id| sent.contains(id));
            let found =
                near_miss(pattern, frame).filter(|_| !is_other || pattern.get("id") == frame.get("id"));
            let is_found = found.is_some();
            *near.borrow_mut() = found.map(|found| found.message);
            is_found
        });
        near.into_inner()
    }

    /// Describes a command without an answer, if the pattern expects that answer.
    fn unanswered(&self, pattern: &Value) -> Option<String> {
        let id = pattern.get("id")?;
        let sent = self.sent().into_iter().rfind(|frame| frame.get("id") == Some(id))?;
        let name = command(&sent)?;
        let answered = self.recorder.find(0, |frame| frame.get("id") == Some(id)).is_some();
        (!answered).then(|| format!("`{name}` was not answered"))
    }

    /// Returns the client's last command.
    fn last_command(&self) -> Option<String> {
        self.sent().iter().rev().find_map(|frame| Some(command(frame)?.to_owned()))
    }

    /// Returns the client's frames.
    fn sent(&self) -> Vec<Value> {
        let records = self.recorder.records();
        let frames = records.iter().filter_map(|record| match record {
            TranscriptRecord::Line(line) if line.dir == Direction::C2s => {
                serde_json::from_str(line.line.as_deref()?).ok()
            }
            _ => None,
        });
        frames.collect()
    }

    fn capture(&mut self, wanted: Option<&BTreeMap<String, String>>, frame: &Value) -> Result<(), String> {
        for (name, path) in wanted.into_iter().flatten() {
            match path::get(frame, path) {
                None => return Err(format!("the awaited frame has no `{path}`")),
                Some(Value::String(text)) => self.variables.set(name, text),
                Some(other) => self.variables.set(name, other.to_string()),
            }
        }
        Ok(())
    }
}

/// Returns the command of a client's frame.
fn command(frame: &Value) -> Option<&str> {
    frame.get("method").or_else(|| frame.get("type"))?.as_str()
}

/// Waits for the first frame from a position on that fits.
async fn await_frame(
    recorder: &Recorder,
    pattern: &Pattern,
    mut from: usize,
    limit: Duration,
) -> Result<(usize, Value), String> {
    let mut changes = recorder.changes();
    let look = async {
        loop {
            let (count, goes_on) = recorder.progress();
            if let Some(found) = recorder.find(from, |frame| pattern.fits(frame)) {
                return Ok(found);
            }
            if !goes_on {
                return Err("the agent's stdout has ended".to_owned());
            }
            from = from.max(count);
            // The recorder exists as long as this receiver, so the wait cannot fail.
            let _ = changes.changed().await;
        }
    };
    tokio::time::timeout(limit, look).await.unwrap_or_else(|_| Err("timeout".to_owned()))
}
