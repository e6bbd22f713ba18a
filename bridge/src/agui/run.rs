//! One run: from the request of the client to the last event.

use std::sync::Arc;
use std::time::Duration;

use agentese::agui::Event as AguiEvent;
use agentese::any::Intent;
use agentese::types::{
    AguiCancelled, AguiInterrupted, AguiOutcome, AguiRunError, AguiRunFinished, AguiRunInput, AguiRunStarted,
    AguiSuccess,
};
use agentese::view::MessageState;
use agentese_server_models::is_blank;
use futures::FutureExt;
use serde_json::json;

use super::super::convert::IMAGES_ALONE;
use super::active_run::ActiveRun;
use super::request::{RunRequest, ignored_parts};
use super::run_log::RunWriter;
use super::threads::{ReservedThread, Thread, Threads};
use super::translator::bridge_event;

/// The time limit for an agent to end a run that is stopped.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// The reason for which [`follow`] has returned.
enum FollowOutcome {
    /// The agent has finished.
    Finished,
    /// The agent rejected the input, or has disconnected.
    Failed(agentese::Error),
    /// The agent has an open question.
    QuestionOpen,
    /// The run has no connection, and the client did not reconnect in time.
    Abandoned,
}

/// The error code and message of a failed run.
struct RunError {
    code: &'static str,
    message: String,
}

fn run_error(code: &'static str) -> impl FnOnce(String) -> RunError {
    move |message| RunError { code, message }
}

/// Carries out a run request and writes the events of the run.
pub(super) async fn serve(
    threads: Arc<Threads>,
    mut reserved: ReservedThread,
    input: AguiRunInput,
    request: RunRequest,
    to: RunWriter,
) {
    let mut started = AguiRunStarted::new(&input.thread_id, &input.run_id);
    started.parent_run_id.clone_from(&input.parent_run_id);
    to.send(started.into()).await;
    let end = match carry_out(&threads, &mut reserved, &input, request, &to).await {
        Ok(outcome) => {
            let mut finished = AguiRunFinished::new(&input.thread_id, &input.run_id);
            finished.outcome = Some(outcome);
            finished.usage = reserved.as_ref().and_then(|thread| thread.translator.usage());
            finished.into()
        }
        Err(RunError { code, message }) => {
            let mut error = AguiRunError::new(message);
            error.code = Some(code.to_owned());
            error.usage = reserved.as_ref().and_then(|thread| thread.translator.usage());
            AguiEvent::from(error)
        }
    };
    // The thread is free before the client receives the end of the run.
    drop(reserved);
    to.send(end).await;
}

/// Carries out a run request. Returns the outcome of the run.
async fn carry_out(
    threads: &Threads,
    reserved: &mut ReservedThread,
    input: &AguiRunInput,
    request: RunRequest,
    to: &RunWriter,
) -> Result<AguiOutcome, RunError> {
    if reserved.as_ref().is_some_and(|thread| thread.agent.is_disconnected()) {
        **reserved = None;
    }
    if reserved.is_none() {
        if matches!(request, RunRequest::Answers(_)) {
            return Err(no_waiting_run());
        }
        **reserved = Some(threads.start().await.map_err(run_error("agent_failed"))?);
    }
    let Some(thread) = reserved.as_mut() else { return Ok(AguiCancelled::new().into()) };
    let takes_images = thread.agent.accepts_images();
    if let Some(unheard) =
        ignored_parts(input, &request, takes_images, |message| thread.translator.knows(message))
    {
        to.send(bridge_event("unheard", unheard)).await;
    }
    let mut work = match request {
        RunRequest::Input { id, mut user_input } => {
            if !takes_images && !user_input.images.is_empty() {
                if is_blank(&user_input.text) {
                    return Err(run_error("refused")(IMAGES_ALONE.to_owned()));
                }
                user_input.images.clear();
            }
            if let Some(work) = thread.suspended.take()
                && stop(thread, work).await.is_none()
            {
                return Err(unstoppable(reserved));
            }
            thread.translator.start_run(&id);
            let agent = thread.agent.client.clone();
            ActiveRun::Starting(async move { agent.prompt(user_input).await }.boxed())
        }
        RunRequest::Answers(answers) => {
            let Some(work) = thread.suspended.take() else { return Err(no_waiting_run()) };
            match thread.questions.resolve(&answers) {
                Ok(late) if late.is_empty() => {}
                Ok(late) => to.send(bridge_event("unheard", json!({"resume": late}))).await,
                Err(wrong) => {
                    thread.suspended = Some(work);
                    return Err(run_error("wrong_answer")(wrong));
                }
            }
            work
        }
    };
    match follow(thread, &mut work, to).await {
        FollowOutcome::Finished => finish(reserved, work, to).await,
        FollowOutcome::Failed(error) => Err(agent_error(reserved, &error)),
        FollowOutcome::QuestionOpen => {
            send_all(to, thread.translator.pause()).await;
            let interrupts = thread.questions.interrupts();
            thread.suspended = Some(work);
            Ok(AguiInterrupted::new(interrupts).into())
        }
        FollowOutcome::Abandoned => {
            let Some(events) = stop(thread, work).await else { return Err(unstoppable(reserved)) };
            send_all(to, events.into_iter().chain(thread.translator.pause())).await;
            Ok(AguiCancelled::new().into())
        }
    }
}

/// Removes an agent that did not stop in time.
fn unstoppable(reserved: &mut ReservedThread) -> RunError {
    **reserved = None;
    run_error("agent_failed")("the agent did not stop in time and was terminated".to_owned())
}

fn no_waiting_run() -> RunError {
    run_error("nothing_waits")("no run of this thread awaits an answer".to_owned())
}

/// Writes the events of the agent until the run ends, a question is open or the run is abandoned.
async fn follow(thread: &mut Thread, work: &mut ActiveRun, to: &RunWriter) -> FollowOutcome {
    loop {
        match work {
            ActiveRun::Starting(start) => tokio::select! {
                biased;
                run = start => match run {
                    Ok(run) => *work = ActiveRun::Started(Box::new(run)),
                    Err(error) => return FollowOutcome::Failed(error),
                },
                () = thread.questions.wait() => return FollowOutcome::QuestionOpen,
                () = to.abandoned() => return FollowOutcome::Abandoned,
            },
            // Events before a question are sent before the question.
            ActiveRun::Started(run) => tokio::select! {
                biased;
                () = to.abandoned() => return FollowOutcome::Abandoned,
                event = run.next() => match event {
                    Some(Ok(event)) => send_all(to, thread.translator.translate(&event)).await,
                    Some(Err(_)) | None => return FollowOutcome::Finished,
                },
                () = thread.questions.wait() => return FollowOutcome::QuestionOpen,
            },
        }
    }
}

/// Ends a run that was not stopped here.
async fn finish(
    reserved: &mut ReservedThread,
    work: ActiveRun,
    to: &RunWriter,
) -> Result<AguiOutcome, RunError> {
    let mut failure = None;
    if let ActiveRun::Started(run) = work {
        match run.wait().await {
            Ok(result) => failure = result.failure.map(|failure| failure.message),
            Err(error) => return Err(agent_error(reserved, &error)),
        }
    }
    let Some(thread) = reserved.as_mut() else { return Ok(AguiSuccess::new().into()) };
    send_all(to, thread.translator.pause()).await;
    let conversation = thread.agent.client.conversation();
    to.send(thread.translator.snapshot(&conversation.messages)).await;
    let outcome = match thread.translator.last.take() {
        Some(last) if last.state == MessageState::Failed => {
            let message = last.error.or_else(|| conversation.run.error.clone());
            Err(run_error("run_failed")(message.unwrap_or_else(|| "the agent's run failed".to_owned())))
        }
        Some(last) if last.state == MessageState::Aborted => Ok(AguiCancelled::new().into()),
        _ => failure
            .map_or_else(|| Ok(AguiSuccess::new().into()), |message| Err(run_error("run_failed")(message))),
    };
    match thread.agent.disconnect_reason() {
        Some(reason) if outcome.is_err() => {
            **reserved = None;
            Err(run_error("agent_gone")(reason))
        }
        _ => outcome,
    }
}

fn agent_error(reserved: &mut ReservedThread, error: &agentese::Error) -> RunError {
    let is_gone = matches!(error, agentese::Error::Terminated(_))
        || reserved.as_ref().is_some_and(|thread| thread.agent.disconnect_reason().is_some());
    let message = reserved.as_ref().map(|thread| thread.agent.error_reason(error));
    if is_gone {
        **reserved = None;
    }
    run_error(if is_gone { "agent_gone" } else { "refused" })(message.unwrap_or_else(|| error.to_string()))
}

async fn send_all(to: &RunWriter, events: impl IntoIterator<Item = AguiEvent>) {
    for event in events {
        to.send(event).await;
    }
}

/// Stops a run of the agent, and waits for its end. Returns its last events. Returns `None` if the run does not end in
/// time; the agent is then ended.
async fn stop(thread: &mut Thread, work: ActiveRun) -> Option<Vec<AguiEvent>> {
    let Thread { agent, questions, translator, .. } = thread;
    let ended = async {
        let run = match work {
            ActiveRun::Starting(start) => start.await.ok().map(Box::new),
            ActiveRun::Started(run) => Some(run),
        };
        let mut events = Vec::new();
        let Some(mut run) = run else { return events };
        let abort = async {
            if agent.client.supports(Intent::Abort) {
                let _ = agent.client.abort().await;
            }
        };
        let drain = async {
            while let Some(Ok(event)) = run.next().await {
                events.extend(translator.translate(&event));
            }
        };
        futures::join!(abort, drain);
        events
    };
    let stopped = tokio::select! {
        stopped = tokio::time::timeout(STOP_LIMIT, ended) => stopped.ok(),
        () = questions.dismiss_all() => None,
    };
    if stopped.is_none() {
        agent.close().await;
    }
    stopped
}
