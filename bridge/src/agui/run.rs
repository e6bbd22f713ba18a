//! One run: from the request of the client to the last event.

use std::sync::Arc;
use std::time::Duration;

use agentese::agui::Event as Told;
use agentese::any::Intent;
use agentese::types::{
    AguiCancelled, AguiInterrupted, AguiOutcome, AguiRunError, AguiRunFinished, AguiRunInput, AguiRunStarted,
    AguiSuccess,
};
use agentese::view::MessageState;
use agentese_server_models::is_blank;
use futures::FutureExt;
use serde_json::json;
use tokio::sync::mpsc::Sender;

use super::super::convert::IMAGES_ALONE;
use super::super::pump::reason;
use super::asked::{Wanted, unheard};
use super::teller::said;
use super::threads::{Held, Thread, Threads};
use super::work::Work;

/// The time limit for an agent to end a run without a client.
const STOPPING: Duration = Duration::from_secs(10);

/// The outcome of following the agent.
enum Followed {
    /// The agent has finished.
    Over,
    /// The agent rejected the input, or has disconnected.
    Failed(agentese::Error),
    /// The agent has an open question.
    Asks,
    /// The client has disconnected.
    Left,
}

/// The error code and message of a failed run.
struct Failed {
    code: &'static str,
    message: String,
}

fn failed(code: &'static str) -> impl FnOnce(String) -> Failed {
    move |message| Failed { code, message }
}

/// Carries out a request and sends its events, until the run ends or the client disconnects.
pub(super) async fn serve(
    threads: Arc<Threads>,
    mut held: Held,
    input: AguiRunInput,
    wanted: Wanted,
    to: Sender<Told>,
) {
    let mut started = AguiRunStarted::new(&input.thread_id, &input.run_id);
    started.parent_run_id.clone_from(&input.parent_run_id);
    let _ = to.send(started.into()).await;
    let end = match work(&threads, &mut held, &input, wanted, &to).await {
        Ok(None) => return,
        Ok(Some(outcome)) => {
            let mut finished = AguiRunFinished::new(&input.thread_id, &input.run_id);
            finished.outcome = Some(outcome);
            finished.usage = held.as_ref().and_then(|thread| thread.teller.usage());
            finished.into()
        }
        Err(Failed { code, message }) => {
            let mut error = AguiRunError::new(message);
            error.code = Some(code.to_owned());
            error.usage = held.as_ref().and_then(|thread| thread.teller.usage());
            Told::from(error)
        }
    };
    // The thread is free before the client receives the end of the run.
    drop(held);
    let _ = to.send(end).await;
}

/// Returns the outcome of the run. Returns `None` if the client has disconnected.
async fn work(
    threads: &Threads,
    held: &mut Held,
    input: &AguiRunInput,
    wanted: Wanted,
    to: &Sender<Told>,
) -> Result<Option<AguiOutcome>, Failed> {
    if held.as_ref().is_some_and(|thread| thread.agent.terminated().now_or_never().is_some()) {
        **held = None;
    }
    if held.is_none() {
        if matches!(wanted, Wanted::Answers(_)) {
            return Err(nothing_waits());
        }
        **held = Some(threads.start().await.map_err(failed("agent_failed"))?);
    }
    let Some(thread) = held.as_mut() else { return Ok(None) };
    let takes_images = thread.agent.takes(Intent::Prompt, "images");
    if let Some(unheard) = unheard(input, &wanted, takes_images, |message| thread.teller.knows(message)) {
        let _ = to.send(said("unheard", unheard)).await;
    }
    let mut work = match wanted {
        Wanted::Said { id, mut words } => {
            if !takes_images && !words.images.is_empty() {
                if is_blank(&words.text) {
                    return Err(failed("refused")(IMAGES_ALONE.to_owned()));
                }
                words.images.clear();
            }
            if let Some(work) = thread.suspended.take()
                && !stop(thread, work).await
            {
                **held = None;
                return Err(failed("agent_failed")("the agent did not stop, and was ended".to_owned()));
            }
            thread.teller.begin(&id);
            let agent = thread.agent.clone();
            Work::Begun(async move { agent.prompt(words).await }.boxed())
        }
        Wanted::Answers(answers) => {
            let Some(work) = thread.suspended.take() else { return Err(nothing_waits()) };
            match thread.questions.answer(&answers) {
                Ok(late) if late.is_empty() => {}
                Ok(late) => drop(to.send(said("unheard", json!({"resume": late}))).await),
                Err(wrong) => {
                    thread.suspended = Some(work);
                    return Err(failed("wrong_answer")(wrong));
                }
            }
            work
        }
    };
    match follow(thread, &mut work, to).await {
        Followed::Over => over(held, work, to).await.map(Some),
        Followed::Failed(error) => Err(gone_or_refused(held, &error)),
        Followed::Asks => {
            for told in thread.teller.pause() {
                let _ = to.send(told).await;
            }
            let interrupts = thread.questions.interrupts();
            thread.suspended = Some(work);
            Ok(Some(AguiInterrupted::new(interrupts).into()))
        }
        Followed::Left => {
            if !stop(thread, work).await {
                **held = None;
            }
            Ok(None)
        }
    }
}

fn nothing_waits() -> Failed {
    failed("nothing_waits")("no run of this thread waits for an answer".to_owned())
}

/// Sends the events of the agent.
async fn follow(thread: &mut Thread, work: &mut Work, to: &Sender<Told>) -> Followed {
    loop {
        match work {
            Work::Begun(begun) => tokio::select! {
                biased;
                run = begun => match run {
                    Ok(run) => *work = Work::Going(Box::new(run)),
                    Err(error) => return Followed::Failed(error),
                },
                () = thread.questions.wait() => return Followed::Asks,
                () = to.closed() => return Followed::Left,
            },
            // Events before a question are sent before the question.
            Work::Going(run) => tokio::select! {
                biased;
                () = to.closed() => return Followed::Left,
                event = run.next() => match event {
                    Some(Ok(event)) => for told in thread.teller.tell(&event) {
                        if to.send(told).await.is_err() {
                            return Followed::Left;
                        }
                    },
                    Some(Err(_)) | None => return Followed::Over,
                },
                () = thread.questions.wait() => return Followed::Asks,
            },
        }
    }
}

/// Ends a run that was not stopped here.
async fn over(held: &mut Held, work: Work, to: &Sender<Told>) -> Result<AguiOutcome, Failed> {
    let mut failure = None;
    if let Work::Going(run) = work {
        match run.wait().await {
            Ok(result) => failure = result.failure.map(|failure| failure.message),
            Err(error) => return Err(gone_or_refused(held, &error)),
        }
    }
    let Some(thread) = held.as_mut() else { return Ok(AguiSuccess::new().into()) };
    for told in thread.teller.pause() {
        let _ = to.send(told).await;
    }
    let conversation = thread.agent.conversation();
    let _ = to.send(thread.teller.snapshot(&conversation.messages)).await;
    match thread.teller.last.take() {
        Some(last) if last.state == MessageState::Failed => {
            let message = last.error.or_else(|| conversation.run.error.clone());
            Err(failed("run_failed")(message.unwrap_or_else(|| "the agent's run failed".to_owned())))
        }
        Some(last) if last.state == MessageState::Aborted => Ok(AguiCancelled::new().into()),
        _ => failure
            .map_or_else(|| Ok(AguiSuccess::new().into()), |message| Err(failed("run_failed")(message))),
    }
}

fn gone_or_refused(held: &mut Held, error: &agentese::Error) -> Failed {
    let is_gone = matches!(error, agentese::Error::Terminated(_));
    if is_gone {
        **held = None;
    }
    failed(if is_gone { "agent_gone" } else { "refused" })(reason(error))
}

/// Stops the work of the agent, and waits for its end. Returns `false` if the work does not stop; the agent is
/// then ended.
async fn stop(thread: &mut Thread, work: Work) -> bool {
    let Thread { agent, questions, teller, .. } = thread;
    let ended = async {
        let run = match work {
            Work::Begun(begun) => begun.await.ok().map(Box::new),
            Work::Going(run) => Some(run),
        };
        let Some(mut run) = run else { return };
        let abort = async {
            if agent.can(Intent::Abort) {
                let _ = agent.abort().await;
            }
        };
        let drain = async {
            while let Some(Ok(event)) = run.next().await {
                teller.tell(&event);
            }
        };
        futures::join!(abort, drain);
    };
    let stopped = tokio::select! {
        stopped = tokio::time::timeout(STOPPING, ended) => stopped.is_ok(),
        () = questions.dismiss_all() => false,
    };
    if !stopped {
        agent.close().await;
    }
    stopped
}
