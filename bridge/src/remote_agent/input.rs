//! User input and setting changes that are passed to the agent.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use agentese::Error;
use agentese::any::{Agent, Intent, UserInput, supports};
use agentese::types::ImageContent;
use agentese::view::RunState;
use agentese_server_engine::engine::{Delivery, InputQueue, RemoteError};
use futures::FutureExt;
use tokio::sync::oneshot;

use super::DialectRemoteAgent;
use crate::control::Control;
use crate::convert::IMAGES_ALONE;
use crate::event_loop::{reason, start_prompt};

impl DialectRemoteAgent {
    /// Passes user input to the agent. Returns when the agent has accepted the input, or when the bridge
    /// holds it. Fails if the agent rejects the input.
    pub(super) async fn send_input(
        &self,
        text: &str,
        images: &[ImageContent],
        delivery: Delivery,
    ) -> Result<(), RemoteError> {
        self.wait_for_settings().await;
        let mut input = UserInput::from(text);
        let takes_images = self.agent.accepts_param(Intent::Prompt, "images");
        if !takes_images && !images.is_empty() {
            if text.trim().is_empty() {
                return Err(IMAGES_ALONE.to_owned());
            }
            self.ui.notify("the agent does not accept images; only the text is sent", "warning");
        }
        for image in images.iter().filter(|_| takes_images) {
            input = input.image(&image.mime_type, &image.data);
        }
        let queue = match delivery {
            Delivery::Prompt(Some(busy)) if self.is_busy_without_queues() => {
                self.hold(busy, input);
                return Ok(());
            }
            Delivery::Prompt(busy) => {
                input.when_busy = busy.map(|busy| delivery_name(busy).to_owned());
                return self.send_prompt(input).await;
            }
            // Input that would start a run is held until the next prompt.
            Delivery::Queue(queue) if self.would_start_run(queue) => {
                self.hold(queue, input);
                return Ok(());
            }
            Delivery::Queue(queue) => queue,
        };
        let outcome = match queue {
            InputQueue::Steer if self.agent.supports(Intent::Steer) => self.agent.steer(input).await,
            InputQueue::FollowUp if self.agent.supports(Intent::FollowUp) => {
                self.agent.follow_up(input).await
            }
            // The input is held and sent as a prompt at the end of the run.
            _ => {
                self.hold(queue, input);
                return Ok(());
            }
        };
        outcome.map(drop).map_err(|error| reason(&error))
    }

    /// Queues a change of a setting of the agent after all earlier changes. A failure is reported to the
    /// user.
    pub(crate) fn queue_change<F>(&self, what: &'static str, work: impl FnOnce(Agent) -> F)
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let (ui, control, work) = (self.ui.clone(), self.control.clone(), work(self.agent.clone()));
        self.pending_settings.fetch_add(1, Ordering::AcqRel);
        let job = async move {
            if let Err(error) = work.await {
                ui.notify(&format!("{what}: {}", reason(&error)), "warning");
            }
            let _ = control.send(Control::SettingFinished);
        };
        let _ = self.jobs.send(job.boxed());
    }

    /// Waits until all earlier setting changes have been applied or have failed.
    pub(crate) async fn wait_for_settings(&self) {
        let (done, over) = oneshot::channel();
        let job = async move {
            let _ = done.send(());
        };
        if self.jobs.send(job.boxed()).is_ok() {
            let _ = over.await;
        }
    }

    /// Sends a prompt, and returns once its run has started. Fails if the agent rejects the prompt.
    async fn send_prompt(&self, input: UserInput) -> Result<(), RemoteError> {
        if self.open_prompts.fetch_add(1, Ordering::AcqRel) == 0 {
            self.stopped.store(false, Ordering::Release);
        }
        let started = start_prompt(&self.agent, input, &self.control).await;
        started.map_err(|error| {
            let _ = self.control.send(Control::PromptRejected);
            reason(&error)
        })
    }

    /// Holds input until the end of the agent's run. Steering input is inserted before follow-up input.
    fn hold(&self, queue: InputQueue, input: UserInput) {
        let mut held_input = self.held_input.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match queue {
            InputQueue::Steer => held_input.iter().position(|(other, _)| *other != queue),
            InputQueue::FollowUp => None,
        };
        let place = place.unwrap_or(held_input.len());
        held_input.insert(place, (queue, input));
    }

    /// Returns `true` if the agent is idle and input for this queue would start a run. Also returns `true` if
    /// the agent is idle and may lack that queue, because it would then reject the input.
    fn would_start_run(&self, queue: InputQueue) -> bool {
        let intent = match queue {
            InputQueue::Steer => Intent::Steer,
            InputQueue::FollowUp => Intent::FollowUp,
        };
        let is_idle = self.open_prompts.load(Ordering::Acquire) == 0
            && self.agent.conversation().run.state == RunState::Idle;
        let may_lack = || self.agent.spec().revisions.iter().any(|revision| !supports(revision, intent));
        is_idle && (self.agent.starts_run(intent) || may_lack())
    }

    /// Returns `true` if a prompt is being processed and the agent has no queue for further input.
    fn is_busy_without_queues(&self) -> bool {
        let queues = [Intent::Steer, Intent::FollowUp];
        self.open_prompts.load(Ordering::Acquire) > 0
            && !queues.iter().any(|intent| self.agent.supports(*intent))
    }
}

/// Returns the neutral name of a queue, for the delivery parameter of a prompt.
fn delivery_name(busy: InputQueue) -> &'static str {
    match busy {
        InputQueue::Steer => Intent::Steer.name(),
        InputQueue::FollowUp => Intent::FollowUp.name(),
    }
}
