//! The steps of a scenario.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentese::types::{Direction, Profile, Scenario, ScenarioStep, TranscriptRecord, WaitFrom, WaitStep};
use base64::Engine as _;
use serde_json::Value;

use super::agent::Agent;
use super::{PlayError, Waited, shell};
use crate::expectations;
use crate::near::near_miss;
use crate::path;
use crate::pattern::Pattern;
use crate::recording::Recorder;
use crate::variables::Variables;

/// How long a wait may take where the case says nothing.
const WAIT: Duration = Duration::from_secs(20);

/// How long nothing comes before an answer with a wrong id is taken for the one that is waited for.
const SILENCE: Duration = Duration::from_secs(3);

/// A step that was checked before anything started.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// The agent is ready when it has said that; none where it does not say so.
    Ready(Option<Value>, Duration),
    /// Bytes, with a pause between two of them.
    Bytes(Vec<Vec<u8>>, Duration),
    /// Anything else is done as it stands.
    Plain(ScenarioStep),
}

/// Checks the steps of a case: what is wrong in it is said before an agent is started.
pub(super) fn prepare(case: &Scenario, profile: &Profile) -> Result<Vec<Step>, PlayError> {
    let steps = case.steps.iter().enumerate();
    let checked = |place: String, pattern: &Value| {
        Pattern::new(pattern).map(|_| ()).map_err(|source| PlayError::Pattern { place, source })
    };
    for check in case.requests.iter().flatten() {
        checked(format!("the check that {}", check.says), &check.expect)?;
    }
    for check in case.expect.iter().flatten() {
        expectations::prove(check).map_err(|source| PlayError::Pattern {
            place: format!("the expectation `{}`", expectations::name(check)),
            source,
        })?;
    }
    steps
        .map(|(at, step)| {
            let place = format!("step {at}");
            Ok(match step {
                ScenarioStep::Ready(ready) => {
                    if let Some(pattern) = &profile.ready {
                        checked(place, pattern)?;
                    }
                    Step::Ready(profile.ready.clone(), limit(ready.timeout_ms))
                }
                ScenarioStep::Bytes(bytes) => {
                    let pieces = bytes.bytes.iter().map(|piece| {
                        let decoded = base64::engine::general_purpose::STANDARD.decode(piece);
                        let reason = |error: base64::DecodeError| error.to_string().to_lowercase();
                        decoded.map_err(|error| PlayError::Base64 {
                            place: place.clone(),
                            reason: reason(error),
                        })
                    });
                    let pause = Duration::from_millis(bytes.pause_ms.unwrap_or_default());
                    Step::Bytes(pieces.collect::<Result<_, _>>()?, pause)
                }
                ScenarioStep::Wait(wait) => {
                    checked(place, &wait.wait)?;
                    Step::Plain(step.clone())
                }
                _ => Step::Plain(step.clone()),
            })
        })
        .collect()
}

fn limit(milliseconds: Option<u64>) -> Duration {
    milliseconds.map_or(WAIT, Duration::from_millis)
}

/// A scenario that is being played.
pub(super) struct Stage {
    pub agent: Agent,
    pub recorder: Arc<Recorder>,
    pub variables: Variables,
    pub environment: Vec<(String, String)>,
    pub work: PathBuf,
    pub patience: f64,
    /// What other cases waited for.
    pub waited: Waited,
    /// Where the next wait begins to look.
    pub cursor: usize,
    /// The step that is being played.
    pub at: usize,
}

/// Whether a step among these says something to the agent.
pub(super) fn say_something(steps: &[Step]) -> bool {
    let says = |step: &Step| {
        matches!(step, Step::Bytes(..) | Step::Plain(ScenarioStep::Send(_) | ScenarioStep::Raw(_)))
    };
    steps.iter().any(says)
}

impl Stage {
    /// Plays the steps in order. Why it broke off, where it did.
    pub(super) async fn play(&mut self, steps: &[Step]) -> Option<String> {
        for (at, step) in steps.iter().enumerate() {
            self.at = at;
            if let Err(reason) = self.step(step).await {
                return Some(format!("step {at}: {reason}"));
            }
        }
        None
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        let step = match step {
            Step::Ready(None, _) => return Ok(()),
            Step::Ready(Some(pattern), limit) => {
                let pattern = self.pattern(pattern)?;
                let (at, _) = await_frame(&self.recorder, &pattern, self.cursor, self.longer(*limit)).await?;
                self.cursor = at + 1;
                return Ok(());
            }
            Step::Bytes(pieces, pause) => return self.pieces(pieces, *pause).await,
            Step::Plain(step) => step,
        };
        match step {
            ScenarioStep::Send(send) => {
                let line = format!("{}\n", self.variables.value(&send.send));
                self.agent.write(&line).await
            }
            ScenarioStep::Raw(raw) => {
                let mut line = self.variables.text(&raw.raw);
                if let Some(repeat) = &raw.repeat {
                    let run = repeat.text.repeat(usize::try_from(repeat.n).unwrap_or_default());
                    line = line.replace(&repeat.token, &run);
                }
                line.push_str(raw.eol.as_deref().unwrap_or("\n"));
                let Some(size) = raw.piece_bytes else { return self.agent.write(&line).await };
                let size = usize::try_from(size).unwrap_or(usize::MAX).max(1);
                let pieces: Vec<Vec<u8>> = line.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
                self.pieces(&pieces, Duration::from_millis(raw.pause_ms.unwrap_or_default())).await
            }
            ScenarioStep::Wait(wait) => match self.wait(wait).await {
                Err(reason) if wait.optional == Some(true) => {
                    self.recorder.control("player_error", Some(reason));
                    Ok(())
                }
                result => result,
            },
            ScenarioStep::Pause(pause) => {
                tokio::time::sleep(Duration::from_millis(pause.pause_ms)).await;
                Ok(())
            }
            ScenarioStep::Quiet(quiet) => {
                let pause = self.longer(Duration::from_millis(quiet.quiet_ms));
                self::quiet(&self.recorder, pause, self.longer(limit(quiet.timeout_ms))).await;
                if quiet.skip == Some(true) {
                    self.cursor = self.recorder.progress().0;
                }
                Ok(())
            }
            ScenarioStep::Hold(_) => {
                self.agent.hold(true);
                Ok(())
            }
            ScenarioStep::Resume(_) => {
                self.agent.hold(false);
                Ok(())
            }
            ScenarioStep::Shell(step) => {
                let command = self.variables.text(&step.shell);
                let limit = step.timeout_ms.map_or(shell::LIMIT, Duration::from_millis);
                let output = shell::run(&command, &self.work, &self.environment, limit).await;
                self.recorder.note(&format!("$ {command}\n{}", output.text));
                Ok(())
            }
            ScenarioStep::Close(_) => {
                self.agent.close_stdin();
                Ok(())
            }
            ScenarioStep::Exit(exit) => {
                self.agent.wait_exit(self.longer(Duration::from_millis(exit.wait_exit_ms))).await;
                Ok(())
            }
            ScenarioStep::Signal(signal) => self.agent.signal(&signal.signal),
            ScenarioStep::Note(note) => {
                self.recorder.note(&self.variables.text(&note.note));
                Ok(())
            }
            // Taken care of above.
            ScenarioStep::Ready(_) | ScenarioStep::Bytes(_) => Ok(()),
        }
    }

    /// Writes bytes, one write for each piece.
    async fn pieces(&mut self, pieces: &[Vec<u8>], pause: Duration) -> Result<(), String> {
        self.recorder.sent(&String::from_utf8_lossy(&pieces.concat()));
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(pause).await;
            }
            self.agent.write_bytes(piece).await?;
        }
        Ok(())
    }

    fn longer(&self, limit: Duration) -> Duration {
        limit.mul_f64(self.patience)
    }

    /// A pattern with its variables replaced.
    fn pattern(&self, pattern: &Value) -> Result<Pattern, String> {
        Pattern::new(&self.variables.value(pattern)).map_err(|error| error.to_string())
    }

    async fn wait(&mut self, wait: &WaitStep) -> Result<(), String> {
        let pattern = self.pattern(&wait.wait)?;
        let mut limit = self.longer(limit(wait.timeout_ms));
        // What may be missing says nothing of what others wait for.
        let may_be_missing = wait.optional == Some(true);
        if !may_be_missing {
            limit = self.waited.limit(&wait.wait, limit);
        }
        let from_start = wait.from == Some(WaitFrom::Start);
        let mut position = if from_start { 0 } else { self.cursor };
        let mut found = Value::Null;
        let deadline = Instant::now() + limit;
        for _ in 0..wait.count.unwrap_or(1) {
            let left = deadline.saturating_duration_since(Instant::now());
            let wanted = self.variables.value(&wait.wait);
            let looked = self.look(&pattern, &wanted, position, left).await;
            // An agent that has ended may have had more to say.
            if !may_be_missing && (looked.is_ok() || self.recorder.progress().1) {
                self.waited.note(&wait.wait, looked.is_ok());
            }
            let (at, frame) = looked.map_err(|reason| {
                let after = self.last_command().map(|name| format!(" after `{name}`")).unwrap_or_default();
                let (pattern, limit) = (&wait.wait, limit.as_millis());
                let waited = format!("nothing like {pattern} within {limit} ms{after}: {reason}");
                let pattern = self.variables.value(&wait.wait);
                match self.near(&pattern, position).or_else(|| self.unanswered(&pattern)) {
                    Some(near) => format!("{near}: {waited}"),
                    None => waited,
                }
            })?;
            (position, found) = (at + 1, frame);
        }
        if !from_start && wait.peek != Some(true) {
            self.cursor = position;
        }
        self.capture(wait.capture.as_ref(), &found)
    }

    /// The first frame from a position on that fits. A wait for an answer is over, too, when one has come with an id that
    /// nobody gave, and nothing for a while.
    async fn look(
        &mut self,
        pattern: &Pattern,
        wanted: &Value,
        from: usize,
        limit: Duration,
    ) -> Result<(usize, Value), String> {
        let begin = Instant::now();
        let silence = self.longer(SILENCE);
        loop {
            let left = limit.saturating_sub(begin.elapsed());
            let step = if wanted.get("id").is_some() { left.min(silence) } else { left };
            let found = await_frame(&self.recorder, pattern, from, step).await;
            let goes_on = self.recorder.progress().1 && step < left;
            if found.is_ok() || !goes_on {
                return found;
            }
            let is_silent = self.recorder.last_received().is_none_or(|last| last.elapsed() >= silence);
            let misnamed =
                |near: String| near.starts_with("`id` is ") && !near.starts_with("`id` is missing");
            if is_silent && self.near(wanted, from).is_some_and(misnamed) {
                return Err("nothing more comes".to_owned());
            }
        }
    }

    /// What the frame that comes nearest to a pattern has otherwise.
    fn near(&self, pattern: &Value, from: usize) -> Option<String> {
        // What answers another line is no answer to this one.
        let sent: Vec<Value> = self.sent().iter().filter_map(|frame| frame.get("id").cloned()).collect();
        let near = std::cell::RefCell::new(None);
        self.recorder.find(from, |frame| {
            let is_other = frame.get("id").is_some_and(|id| sent.contains(id));
            let found =
                near_miss(pattern, frame).filter(|_| !is_other || pattern.get("id") == frame.get("id"));
            let is_found = found.is_some();
            *near.borrow_mut() = found;
            is_found
        });
        near.into_inner()
    }

    /// That a command was not answered, where a pattern is about its answer.
    fn unanswered(&self, pattern: &Value) -> Option<String> {
        let id = pattern.get("id")?;
        let sent = self.sent().into_iter().rfind(|frame| frame.get("id") == Some(id))?;
        let name = command(&sent)?;
        let answered = self.recorder.find(0, |frame| frame.get("id") == Some(id)).is_some();
        (!answered).then(|| format!("`{name}` was not answered"))
    }

    /// What the client asked for last.
    fn last_command(&self) -> Option<String> {
        self.sent().iter().rev().find_map(|frame| Some(command(frame)?.to_owned()))
    }

    /// The frames that the client sent.
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
            match path::at(frame, path) {
                None => return Err(format!("there is no `{path}` in the frame that was waited for")),
                Some(Value::String(text)) => self.variables.set(name, text),
                Some(other) => self.variables.set(name, other.to_string()),
            }
        }
        Ok(())
    }
}

/// The command of a frame that a client sent.
fn command(frame: &Value) -> Option<&str> {
    frame.get("method").or_else(|| frame.get("type"))?.as_str()
}

/// The first frame from a position on that fits.
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
            // The recorder lives as long as who waits.
            let _ = changes.changed().await;
        }
    };
    tokio::time::timeout(limit, look).await.unwrap_or_else(|_| Err("the time is over".to_owned()))
}

/// Waits until nothing has come for some time, counted from now on.
async fn quiet(recorder: &Recorder, pause: Duration, limit: Duration) {
    let start = Instant::now();
    while start.elapsed() < limit && recorder.progress().1 {
        let last = recorder.last_received().map_or(start, |last| last.max(start));
        let silent = last.elapsed();
        if silent >= pause {
            return;
        }
        let mut changes = recorder.changes();
        let _ = tokio::time::timeout(pause - silent, changes.changed()).await;
    }
}
