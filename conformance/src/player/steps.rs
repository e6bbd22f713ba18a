//! The steps of a scenario.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{ModelRequestStep, Profile, RequireStep, Scenario, ScenarioStep};
use base64::Engine as _;
use serde_json::Value;

use super::agent::Agent;
use super::replies::{self, PreparedReply, Responder};
use super::{JobSlot, PlayError, needs, shell};
use crate::matching::Pattern;
use crate::matching::expectations;
use crate::model::ScriptedModel;
use crate::recording::Recorder;
use crate::variables::Variables;

/// Time limit of a wait, if the case sets no limit. It is long enough for a busy machine.
const WAIT: Duration = Duration::from_secs(60);

/// A step whose content was checked before the agent starts.
#[derive(Debug, Clone)]
pub(super) enum PreparedStep {
    /// Waits until the agent sends its ready frame; the pattern is `None` if the agent has no such
    /// frame.
    WaitForReady(Option<Value>, Duration),
    /// Sends pieces of bytes, with a pause after each.
    Bytes(Vec<Vec<u8>>, Duration),
    /// Waits for a request to the model; `None` if the suite does not receive the requests.
    WaitForRequest(Option<ModelRequestStep>),
    /// Any other step, unchanged.
    Plain(ScenarioStep),
}

/// Prepares the steps of a case before the agent starts. Fails if a step is invalid.
pub(super) fn prepare(case: &Scenario, profile: &Profile) -> Result<Vec<PreparedStep>, PlayError> {
    let steps = case.steps.iter().enumerate();
    let checked = |place: String, pattern: &Value| {
        Pattern::new(pattern).map(|_| ()).map_err(|source| PlayError::Pattern { place, source })
    };
    for check in case.requests.iter().flatten() {
        checked(format!("the check that {}", check.says), &check.expect)?;
    }
    for check in case.expect.iter().flatten() {
        expectations::check_patterns(check).map_err(|source| PlayError::Pattern {
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
                    PreparedStep::WaitForReady(profile.ready.clone(), limit(ready.timeout_ms))
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
                    PreparedStep::Bytes(pieces.collect::<Result<_, _>>()?, pause)
                }
                ScenarioStep::Wait(wait) => {
                    checked(place, &wait.wait)?;
                    PreparedStep::Plain(step.clone())
                }
                ScenarioStep::ModelRequest(asked) => {
                    if case.model.is_none() {
                        return Err(PlayError::NoModel { place });
                    }
                    asked.fits.as_ref().map_or(Ok(()), |fits| checked(place, fits))?;
                    PreparedStep::WaitForRequest((!needs::plays_the_script(profile)).then(|| asked.clone()))
                }
                ScenarioStep::Require(required) => {
                    checked(place, &required.require)?;
                    PreparedStep::Plain(step.clone())
                }
                _ => PreparedStep::Plain(step.clone()),
            })
        })
        .collect()
}

pub(super) fn limit(milliseconds: Option<u64>) -> Duration {
    milliseconds.map_or(WAIT, Duration::from_millis)
}

/// Runner of the steps of one case.
pub(super) struct CaseRunner<'a> {
    pub agent: Agent,
    /// Command line of the agent, for further starts.
    pub argv: Vec<String>,
    /// Time for the agent to end after its stdin is closed.
    pub grace: Duration,
    pub replies: Arc<Vec<PreparedReply>>,
    pub responder: Responder,
    /// The model of the case, if there is one.
    pub model: Option<&'a ScriptedModel>,
    pub recorder: Arc<Recorder>,
    pub variables: Variables,
    pub environment: Vec<(String, String)>,
    pub work: PathBuf,
    pub patience: f64,
    /// Slot for this case, since the number of concurrent cases is limited.
    pub slot: JobSlot,
    /// Index of the frame from which the next wait searches.
    pub cursor: usize,
    /// Index of the step in progress.
    pub at: usize,
    /// `true` if the step's wait timed out while the agent was still running.
    pub wait_timed_out: bool,
    /// The frame that the last wait found.
    pub found: Value,
    /// Reason why the case does not apply to the agent, if a step found that.
    pub not_applicable: Option<String>,
}

/// Returns `true` if one of the steps sends input to the agent.
pub(super) fn sends_input(steps: &[PreparedStep]) -> bool {
    let message = |step: &PreparedStep| {
        matches!(
            step,
            PreparedStep::Bytes(..)
                | PreparedStep::Plain(ScenarioStep::Send(_) | ScenarioStep::Raw(_) | ScenarioStep::Reply(_))
        )
    };
    steps.iter().any(message)
}

impl CaseRunner<'_> {
    /// Plays the steps in order. Returns the reason if the scenario broke off, and `None` at its end.
    pub(super) async fn play(&mut self, steps: &[PreparedStep]) -> Option<String> {
        for (at, step) in steps.iter().enumerate() {
            (self.at, self.wait_timed_out) = (at, false);
            if let Err(reason) = self.step(step).await {
                return Some(format!("step {at}: {reason}"));
            }
        }
        None
    }

    async fn step(&mut self, step: &PreparedStep) -> Result<(), String> {
        let step = match step {
            PreparedStep::WaitForReady(None, _) => return Ok(()),
            PreparedStep::WaitForReady(Some(pattern), limit) => {
                let pattern = self.pattern(pattern)?;
                return self.wait_for_ready(&pattern, self.scaled(*limit)).await;
            }
            PreparedStep::Bytes(pieces, pause) => return self.pieces(pieces, *pause).await,
            PreparedStep::WaitForRequest(None) => return Ok(()),
            PreparedStep::WaitForRequest(Some(asked)) => return self.wait_for_request(asked).await,
            PreparedStep::Plain(step) => step,
        };
        match step {
            ScenarioStep::Send(send) => {
                let line = format!("{}\n", self.variables.value(&send.send));
                self.agent.input().write(&line).await
            }
            ScenarioStep::Raw(raw) => {
                let mut line = self.variables.text(&raw.raw);
                if let Some(repeat) = &raw.repeat {
                    let run = repeat.text.repeat(usize::try_from(repeat.n).unwrap_or_default());
                    line = line.replace(&repeat.token, &run);
                }
                line.push_str(raw.eol.as_deref().unwrap_or("\n"));
                let Some(size) = raw.piece_bytes else { return self.agent.input().write(&line).await };
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
                self.wait_for_quiet(quiet).await;
                Ok(())
            }
            ScenarioStep::Hold(_) => {
                self.agent.pause_reading(true);
                Ok(())
            }
            ScenarioStep::Resume(_) => {
                self.agent.pause_reading(false);
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
                self.agent.close_stdin().await;
                Ok(())
            }
            ScenarioStep::Exit(exit) => {
                self.agent.wait_exit(self.scaled(Duration::from_millis(exit.wait_exit_ms))).await;
                Ok(())
            }
            ScenarioStep::Signal(signal) => self.agent.signal(&signal.signal),
            ScenarioStep::Note(note) => {
                self.recorder.note(&self.variables.text(&note.note));
                Ok(())
            }
            ScenarioStep::Reply(step) => self.reply(&step.reply).await,
            ScenarioStep::Require(step) => self.require(step),
            ScenarioStep::Restart(_) => self.restart().await,
            // The code above handles these steps.
            ScenarioStep::Ready(_) | ScenarioStep::Bytes(_) | ScenarioStep::ModelRequest(_) => Ok(()),
        }
    }

    /// Answers the request that the last wait found.
    async fn reply(&mut self, reply: &Value) -> Result<(), String> {
        let line = replies::answer_line(&self.found, &self.variables.value(reply));
        let line = line.ok_or("the last wait found no request to reply to")?;
        self.agent.input().write(&line).await
    }

    /// Ends the case as not applicable, unless the frame that the last wait found fits.
    fn require(&mut self, step: &RequireStep) -> Result<(), String> {
        if self.pattern(&step.require)?.fits(&self.found) {
            return Ok(());
        }
        self.not_applicable = Some(step.reason.clone());
        Err(step.reason.clone())
    }

    /// Ends the agent and starts it again.
    async fn restart(&mut self) -> Result<(), String> {
        self.agent.finish(self.grace, "exited").await;
        self.recorder.resume();
        self.cursor = self.recorder.progress().0;
        self.agent = Agent::start(&self.argv, &self.work, &self.environment, self.recorder.clone())
            .map_err(|error| error.to_string())?;
        let input = self.agent.input().clone();
        self.responder = Responder::start(&self.replies, &self.variables, input, self.recorder.clone());
        Ok(())
    }

    /// Writes bytes, with one write for each piece.
    async fn pieces(&mut self, pieces: &[Vec<u8>], pause: Duration) -> Result<(), String> {
        self.recorder.sent(&String::from_utf8_lossy(&pieces.concat()));
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                tokio::time::sleep(pause).await;
            }
            self.agent.input().write_bytes(piece).await?;
        }
        Ok(())
    }

    pub(super) fn scaled(&self, limit: Duration) -> Duration {
        limit.mul_f64(self.patience)
    }

    /// Replaces the variables in a pattern, and parses it.
    pub(super) fn pattern(&self, pattern: &Value) -> Result<Pattern, String> {
        Pattern::new(&self.variables.value(pattern)).map_err(|error| error.to_string())
    }
}
