//! The serving side: framing, dispatch, answers and events of an agent, over the generated
//! `Service` trait of a dialect.
//!
//! ```no_run
//! use agentese::pi::{self, Pi, QueueMode, SessionState, SessionStateBuilder, ThinkingLevel};
//! use agentese::serve::{Call, CommandError};
//! use agentese::wire::{Maybe, NoParams};
//!
//! struct Quiet;
//!
//! impl pi::Service for Quiet {
//!     async fn get_state(&self, _: NoParams, _: Call<Pi, SessionState>) -> Result<SessionState, CommandError> {
//!         let state = SessionStateBuilder {
//!             thinking_level: ThinkingLevel::Off,
//!             is_streaming: false,
//!             is_compacting: false,
//!             steering_mode: QueueMode::All,
//!             follow_up_mode: QueueMode::All,
//!             session_id: "session-1".to_owned(),
//!             auto_compaction_enabled: true,
//!             message_count: 0,
//!             pending_message_count: 0,
//!         };
//!         let mut state = state.build();
//!         state.model = Maybe::Null;
//!         Ok(state)
//!     }
//! }
//!
//! # async fn example() -> std::io::Result<()> {
//! agentese::serve(agentese::transport::stdio()?, Quiet).await;
//! # Ok(())
//! # }
//! ```

mod command_error;
mod emitter;
mod gate;
mod lines;
mod outbox;
mod scheduler;
mod segments;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

pub use command_error::CommandError;
use emitter::OpenQuestions;
pub use emitter::{Call, Emitter, PendingQuestion, QuestionParams};
pub use gate::Gate;
use outbox::Outbox;
use scheduler::{FinishedCommand, QueuedCommand, Scheduler};
pub use segments::Segments;

use crate::framing::{Bom, DEFAULT_MAX_LINE, FrameReader, FramerOptions, FramingError, Incoming};
use crate::spec::{AnswerTiming, Dialect, EndOfInput, Lane, RunRole, Spec};
use crate::transport::{BoxReader, Transport};

/// Reason why a question fails if its answer is not JSON.
const UNREADABLE: &str = "it is not valid JSON, or nested too deeply";

/// Execution of the commands of one dialect. Every implementation of the dialect's `Service` implements this trait.
pub trait Dispatch<D: Dialect>: Send + Sync + 'static {
    /// Executes a command.
    fn dispatch(
        self: Arc<Self>,
        command: D::Command,
        call: Call<D, D::Reply>,
    ) -> BoxFuture<'static, Result<D::Reply, CommandError>>;

    /// Stops all running work. Called while handlers run, because a handler may wait for this call. A handler
    /// that does not return within [`Options::drain`] afterwards is dropped.
    fn shut_down(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Waits until no work is running.
    fn wait_until_idle(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

/// Reason for the end of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServeEnd {
    /// Stdin ended, and all commands that require an answer have one.
    EndOfInput,
    /// The client no longer reads.
    BrokenOutput,
    /// Writing failed for another reason; for example, stdout is a file on a full disk. The last frames are
    /// lost.
    FailedOutput,
    /// The caller cancelled [`Options::stop`] or [`Options::finish`].
    Stopped,
}

/// Options of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Maximum length of a received line in bytes; 64 MiB by default. A longer line is answered with a failure
    /// and skipped. The oldest open question may fail too, because the line may have been its answer.
    pub max_line: usize,
    /// Limit for frames that the client has not read, in bytes; 16 MiB by default. At the limit, events wait.
    /// At twice the limit, some commands also wait, and continue one by one. These are commands that start or
    /// replace a run, commands that wait for their lane, and commands whose previous answers were long.
    /// Commands that stop a run, and those with short answers, still run.
    pub outbox_bytes: usize,
    /// Limit for the total length of the commands in progress, in bytes; 128 MiB by default. Further commands
    /// are rejected.
    pub command_bytes: usize,
    /// Maximum number of commands in progress; unlimited by default. Further commands are rejected, except
    /// those that stop a run.
    pub commands: usize,
    /// Time limit for two waits; 5 s by default. After all work was stopped, handlers have this time to return.
    /// After the end of serving, the last frames have this time to be delivered.
    pub drain: std::time::Duration,
    /// The tables of the served revision, one of `Dialect::REVISIONS`; `None` for the dialect's first revision.
    /// Commands of other revisions are unknown.
    pub revision: Option<&'static Spec>,
    /// Token that ends serving. Running work is stopped, and frames that were already written are flushed.
    pub stop: CancellationToken,
    /// Token that ends serving in an orderly way. No more input is read, and the commands in progress have
    /// the time `drain` for their answers. Useful if another program does the work: after the end of that
    /// program, the commands can still fail with the reason for its end.
    pub finish: CancellationToken,
    /// Filter of commands before their execution; `None` if all commands run. A gate also rejects ambiguous
    /// frames, which two readers may interpret differently ([`strict`](crate::strict)).
    pub gate: Option<Gate>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_line: DEFAULT_MAX_LINE,
            outbox_bytes: 16 << 20,
            command_bytes: 128 << 20,
            commands: usize::MAX,
            drain: std::time::Duration::from_secs(5),
            revision: None,
            stop: CancellationToken::new(),
            finish: CancellationToken::new(),
            gate: None,
        }
    }
}

/// Serves one client until its input ends. Never fails: invalid input is answered, and reading continues.
pub async fn serve<D: Dialect, S: Dispatch<D>>(transport: Transport, service: S) -> ServeEnd {
    serve_with(transport, Arc::new(service), Options::default(), |_| {}).await
}

/// Works like [`serve`], with options. Before the first line is read, `started` receives the emitter, which can
/// send events that belong to no command.
pub async fn serve_with<D: Dialect, S: Dispatch<D>>(
    transport: Transport,
    service: Arc<S>,
    options: Options,
    started: impl FnOnce(Emitter<D>),
) -> ServeEnd {
    let outbox = Arc::new(Outbox::new(options.outbox_bytes));
    let questions = Arc::new(OpenQuestions::default());
    let spec = options.revision.unwrap_or(D::SPEC);
    let emitter = Emitter::new(spec, outbox.clone(), questions.clone());
    let writer = tokio::spawn(outbox::write(outbox.clone(), transport.writer));
    started(emitter.clone());
    let keep_bom = spec.edges.blank_line_is_error;
    let framer =
        FramerOptions { max_line: options.max_line, bom: if keep_bom { Bom::Keep } else { Bom::Drop } };
    let server = Server {
        service: service.clone(),
        emitter,
        scheduler: Scheduler::default(),
        command_bytes: options.command_bytes,
        commands: options.commands,
        gate: options.gate.clone(),
        frames: FrameReader::with_options(transport.reader, framer),
    };
    let ended = server.run(&options, &outbox).await;
    questions.dismiss_all();
    if ended != ServeEnd::EndOfInput {
        service.shut_down().await;
    }
    outbox.close();
    let abort = writer.abort_handle();
    if tokio::time::timeout(options.drain, writer).await.is_err() {
        abort.abort();
    }
    match outbox.failed() {
        Some(reason) => {
            tracing::error!(reason, "frames could not be written");
            ServeEnd::FailedOutput
        }
        None => ended,
    }
}

struct Server<D: Dialect, S> {
    service: Arc<S>,
    emitter: Emitter<D>,
    scheduler: Scheduler,
    command_bytes: usize,
    commands: usize,
    gate: Option<Gate>,
    frames: FrameReader<BoxReader>,
}

impl<D: Dialect, S: Dispatch<D>> Server<D, S> {
    async fn run(mut self, options: &Options, outbox: &Outbox) -> ServeEnd {
        let mut batch = Vec::new();
        loop {
            let read = tokio::select! {
                biased;
                () = options.stop.cancelled() => return ServeEnd::Stopped,
                () = outbox.broken() => return ServeEnd::BrokenOutput,
                Some(ran) = self.scheduler.running.next() => {
                    self.scheduler.finish(ran);
                    continue;
                }
                () = outbox.room_for_answers(), if self.scheduler.has_held() => {
                    self.scheduler.release_one();
                    self.scheduler.poll_ready();
                    continue;
                }
                () = options.finish.cancelled() => {
                    self.emitter.dismiss_questions();
                    let _ = tokio::time::timeout(options.drain, self.scheduler.run_to_end(outbox)).await;
                    return ServeEnd::Stopped;
                }
                // The limit keeps unread answers, and commands, from accumulating.
                read = self.frames.next_batch(&mut batch), if !self.scheduler.is_full() => read,
            };
            if self.frames.unterminated() && !self.emitter.spec().edges.unfinished_line_counts {
                batch.pop();
            }
            let mut heads = self.frames.take_heads().into_iter();
            for incoming in batch.drain(..) {
                match incoming {
                    Incoming::Frame(frame) => {
                        if let Some(waiting) = self.line(frame.as_str(), outbox) {
                            self.scheduler.add(waiting, outbox.has_room_for_answers());
                            // Each command starts before the next line is read.
                            self.scheduler.poll_ready();
                        }
                    }
                    Incoming::Fault(fault) => {
                        let reason = fault.to_string();
                        let is_skipped = matches!(fault, FramingError::TooLong { .. });
                        self.emitter.fail_question(&heads.next().unwrap_or_default(), is_skipped, &reason);
                        self.emitter.send_line(lines::parse_failure(self.emitter.spec(), &reason))
                    }
                }
            }
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
        self.finish(options, outbox).await
    }

    /// Ends serving after the end of stdin. Started commands are answered. Running work continues or is
    /// stopped, as the dialect requires. If it is stopped, handlers that do not return in time are dropped.
    async fn finish(mut self, options: &Options, outbox: &Outbox) -> ServeEnd {
        // No client can answer questions any more.
        self.emitter.dismiss_questions();
        let service = self.service.clone();
        let handlers = self.scheduler.run_to_end(outbox);
        let work = async {
            match self.emitter.spec().edges.end_of_input {
                EndOfInput::Finish => drop(futures::join!(handlers, service.wait_until_idle())),
                // Work is stopped while the handlers run, because they may wait for the stop.
                EndOfInput::Abort => {
                    let mut handlers = std::pin::pin!(handlers.fuse());
                    let mut stopped = service.shut_down().fuse();
                    futures::select_biased! {
                        () = handlers => stopped.await,
                        () = stopped => {
                            if tokio::time::timeout(options.drain, handlers).await.is_err() {
                                tracing::warn!("a handler did not end after all work was stopped");
                            }
                        }
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = options.stop.cancelled() => ServeEnd::Stopped,
            () = outbox.broken() => ServeEnd::BrokenOutput,
            () = work => ServeEnd::EndOfInput,
        }
    }

    /// Returns a description of the limit that a further command of the given length would exceed, or `None`.
    fn limit_reached(&self, bytes: usize) -> Option<String> {
        if !self.scheduler.has_room(bytes, self.command_bytes) {
            return Some(format!("commands of {} bytes", self.command_bytes));
        }
        (self.scheduler.in_progress() >= self.commands).then(|| format!("{} commands", self.commands))
    }

    /// Processes a line. If it is a command, returns its execution for the scheduler.
    fn line(&mut self, text: &str, outbox: &Outbox) -> Option<QueuedCommand> {
        let spec = self.emitter.spec();
        let line = match self.gate {
            Some(_) => lines::read_strictly::<D>(spec, text),
            None => lines::read::<D>(spec, text),
        };
        match line {
            lines::InterpretedLine::Ignored => None,
            lines::InterpretedLine::Answer(line) => {
                self.emitter.send_line(line);
                None
            }
            lines::InterpretedLine::Unreadable(line) => {
                self.emitter.fail_question(text, false, UNREADABLE);
                self.emitter.send_line(line);
                None
            }
            lines::InterpretedLine::Question { id, members } => {
                self.emitter.settle_question(&id, members);
                None
            }
            lines::InterpretedLine::Command { id, spec, command, session } => {
                let lane = spec.lane;
                let bytes = text.len();
                if let Some(limit) = self.limit_reached(bytes).filter(|_| spec.run != RunRole::Stops) {
                    let call = Call::new(self.emitter.clone(), id.as_deref(), spec, CancellationToken::new());
                    call.failure(&CommandError::new(format!(
                        "`{}` was rejected: {limit} are in progress; send it again when some of them are answered",
                        spec.wire
                    )));
                    return None;
                }
                let replaced = self.scheduler.register(&session, spec.run == RunRole::Replaces);
                let call = Call::new(self.emitter.clone(), id.as_deref(), spec, replaced);
                if spec.answer == AnswerTiming::Acknowledged {
                    call.acknowledge();
                }
                let lets = self.gate.as_ref().map_or(Ok(()), |gate| gate.check(spec));
                let work = match lets {
                    Ok(()) => self.service.clone().dispatch(command, call.clone()),
                    // In every dialect the sender must be able to identify the rejected command.
                    Err(error) => futures::future::ready(Err(error.invalid_params())).boxed(),
                };
                let ran = FinishedCommand { lane, session: session.clone(), bytes };
                let guarded = AssertUnwindSafe(work).catch_unwind().map(move |result| {
                    let result = result.unwrap_or_else(|_| {
                        tracing::error!(command = spec.wire, "a handler panicked");
                        Err(CommandError::new(format!("`{}` failed inside the server", spec.wire)))
                    });
                    call.finish(result);
                    ran
                });
                let passes = match spec.run {
                    RunRole::Stops => true,
                    RunRole::None => {
                        lane == Lane::Immediate && outbox.longest_answer(spec.wire) <= scheduler::SHORT_ANSWER
                    }
                    RunRole::Starts | RunRole::Acts | RunRole::Replaces => false,
                };
                Some(QueuedCommand { lane, session, bytes, skips_held: passes, work: guarded.boxed() })
            }
        }
    }
}
