//! User input and settings on their way to the agent.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use agentese::Error;
use agentese::any::{Agent, Intent, Words, carries};
use agentese::types::ImageContent;
use agentese::view::RunState;
use agentese_server_engine::engine::{Manner, StreamingBehavior, Unwilling};
use futures::FutureExt;
use tokio::sync::oneshot;

use super::Remote;
use crate::control::Word;
use crate::convert::IMAGES_ALONE;
use crate::pump::{begin, reason};

impl Remote {
    /// Passes user input to the agent. Returns after the agent has accepted it.
    pub(super) async fn hand_over(
        &self,
        text: &str,
        images: &[ImageContent],
        manner: Manner,
    ) -> Result<(), Unwilling> {
        self.behind_settings().await;
        let mut words = Words::from(text);
        let takes_images = self.agent.takes(Intent::Prompt, "images");
        if !takes_images && !images.is_empty() {
            if text.trim().is_empty() {
                return Err(IMAGES_ALONE.to_owned());
            }
            self.person.tell("the agent takes no images: it gets the text alone", "warning");
        }
        for image in images.iter().filter(|_| takes_images) {
            words = words.image(&image.mime_type, &image.data);
        }
        let queue = match manner {
            Manner::Prompt(Some(busy)) if self.is_busy_without_queues() => {
                self.hold(busy, words);
                return Ok(());
            }
            Manner::Prompt(busy) => {
                words.when_busy = busy.map(|busy| word(busy).to_owned());
                return self.prompt(words).await;
            }
            // The input waits for the next prompt and starts no run.
            Manner::Queue(queue) if self.would_begin(queue) => {
                self.hold(queue, words);
                return Ok(());
            }
            Manner::Queue(queue) => queue,
        };
        let said = match queue {
            StreamingBehavior::Steer if self.agent.can(Intent::Steer) => self.agent.steer(words).await,
            StreamingBehavior::FollowUp if self.agent.can(Intent::FollowUp) => {
                self.agent.follow_up(words).await
            }
            // The input becomes a prompt at the end of the run.
            _ => {
                self.hold(queue, words);
                return Ok(());
            }
        };
        said.map(drop).map_err(|error| reason(&error))
    }

    /// Applies a change to the agent after earlier input. Reports a failure to the user.
    pub(crate) fn later<F>(&self, what: &'static str, work: impl FnOnce(Agent) -> F)
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let (person, words, work) = (self.person.clone(), self.words.clone(), work(self.agent.clone()));
        self.unset.fetch_add(1, Ordering::AcqRel);
        let job = async move {
            if let Err(error) = work.await {
                person.tell(&format!("{what}: {}", reason(&error)), "warning");
            }
            let _ = words.send(Word::Set);
        };
        let _ = self.jobs.send(job.boxed());
    }

    /// Waits until earlier settings have reached the agent.
    pub(crate) async fn behind_settings(&self) {
        let (done, over) = oneshot::channel();
        let job = async move {
            let _ = done.send(());
        };
        if self.jobs.send(job.boxed()).is_ok() {
            let _ = over.await;
        }
    }

    /// Sends a prompt, and follows its work.
    async fn prompt(&self, words: Words) -> Result<(), Unwilling> {
        if self.open.fetch_add(1, Ordering::AcqRel) == 0 {
            self.stopped.store(false, Ordering::Release);
        }
        let begun = begin(&self.agent, words, &self.words).await;
        begun.map_err(|error| {
            let _ = self.words.send(Word::Refused);
            reason(&error)
        })
    }

    /// Holds input until the end of the agent's run: steering before follow-ups.
    fn hold(&self, queue: StreamingBehavior, words: Words) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match queue {
            StreamingBehavior::Steer => held.iter().position(|(other, _)| *other != queue),
            StreamingBehavior::FollowUp => None,
        };
        let place = place.unwrap_or(held.len());
        held.insert(place, (queue, words));
    }

    /// Returns `true` if input for that queue would start a run, because the agent is idle. Also returns true
    /// if the agent may lack the queue and would reject the input.
    fn would_begin(&self, queue: StreamingBehavior) -> bool {
        let intent = match queue {
            StreamingBehavior::Steer => Intent::Steer,
            StreamingBehavior::FollowUp => Intent::FollowUp,
        };
        let is_idle =
            self.open.load(Ordering::Acquire) == 0 && self.agent.conversation().run.state == RunState::Idle;
        let may_lack = || self.agent.spec().revisions.iter().any(|revision| !carries(revision, intent));
        is_idle && (self.agent.begins(intent) || may_lack())
    }

    /// Returns `true` if a run is in progress that accepts no further input.
    fn is_busy_without_queues(&self) -> bool {
        let queues = [Intent::Steer, Intent::FollowUp];
        self.open.load(Ordering::Acquire) > 0 && !queues.iter().any(|intent| self.agent.can(*intent))
    }
}

/// Returns the neutral name of the delivery of a prompt during a run.
fn word(busy: StreamingBehavior) -> &'static str {
    match busy {
        StreamingBehavior::Steer => Intent::Steer.name(),
        StreamingBehavior::FollowUp => Intent::FollowUp.name(),
    }
}
