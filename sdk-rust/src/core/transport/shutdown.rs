//! Shutdown of a child and its process group, one step after another.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::sleep;

use super::exit::Exit;
use super::stderr::StderrDrain;
use super::stdin::StdinGate;
use super::system::{self, Group};

/// Longest wait for a killed group. Only a process that is stuck in the kernel takes longer. The system reaps
/// it later.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// Delay before the first check of a group whose leader has ended. Later checks have longer intervals, at most
/// `MAX_CHECK_INTERVAL`.
const FIRST_CHECK: Duration = Duration::from_millis(2);
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest time, in milliseconds, by which reaping a killed child delays the end of a runtime.
const DROP_WAIT_MS: u32 = 500;

/// State of a child that its handles can observe.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The exit of the leader, after it has ended.
    pub(super) exit: Option<Exit>,
    /// `true` if the whole group has ended or was killed.
    pub(super) is_over: bool,
}

/// The task that owns a child from its start to its end.
///
/// The task reads stderr all the time. It detects the end of the process even while other processes keep its
/// pipes open. It shuts the group down on request, when the handle is dropped, and when the leader ends but
/// other processes remain. If the runtime drops the task before its end, the group is killed at once.
pub(super) struct ShutdownLadder {
    pub(super) child: Child,
    pub(super) group: Arc<Group>,
    pub(super) stdin: StdinGate,
    pub(super) stderr: StderrDrain,
    pub(super) progress: watch::Sender<Progress>,
    pub(super) eof_grace: Duration,
    pub(super) term_grace: Duration,
}

impl ShutdownLadder {
    /// Runs until the group is over. The shutdown starts when `asked` becomes true or its sender is dropped.
    pub(super) async fn run(mut self, mut asked: watch::Receiver<bool>) {
        let ended = loop {
            tokio::select! {
                status = self.child.wait() => break Some(status.ok()),
                () = self.stderr.step() => {}
                _ = asked.wait_for(|asked| *asked) => break None,
            }
        };
        if let Some(status) = ended {
            self.stderr.take_rest().await;
            self.leader_ended(status);
        }
        self.stdin.close();
        let ended = self.settle(self.eof_grace).await
            || self.group.ask_to_end() && self.settle(self.term_grace).await;
        if !ended {
            self.group.kill();
            if !self.settle(KILL_WAIT).await {
                tracing::warn!("a killed process group has not ended yet");
            }
        }
        self.finish();
    }

    /// Waits until the leader and the group have ended. Returns `false` if this takes longer than `grace`.
    async fn settle(&mut self, grace: Duration) -> bool {
        let mut deadline = std::pin::pin!(sleep(grace));
        let mut pause = FIRST_CHECK;
        let mut look = std::pin::pin!(sleep(Duration::ZERO));
        loop {
            let led = !self.has_ended();
            tokio::select! {
                biased;
                status = self.child.wait(), if led => {
                    self.stderr.take_rest().await;
                    self.leader_ended(status.ok());
                }
                () = &mut look, if !led => {
                    if self.group.is_empty() {
                        return true;
                    }
                    look.set(sleep(pause));
                    pause = MAX_CHECK_INTERVAL.min(pause * 2);
                }
                () = &mut deadline => return false,
                () = self.stderr.step() => {}
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.progress.borrow().exit.is_some()
    }

    /// Reports the exit of the leader. If another part of the program has reaped the child, the exit has
    /// neither code nor signal.
    fn leader_ended(&mut self, status: Option<ExitStatus>) {
        self.stderr.take_ready();
        let exit = Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(system::signal_of),
            stderr_tail: self.stderr.tail().text(),
        };
        self.progress.send_modify(|progress| progress.exit = Some(exit));
    }

    fn finish(&mut self) {
        self.group.finish();
        if !self.has_ended() {
            self.leader_ended(None);
        }
        self.stderr.end();
        self.progress.send_modify(|progress| progress.is_over = true);
    }
}

impl Drop for ShutdownLadder {
    fn drop(&mut self) {
        if self.progress.borrow().is_over {
            return;
        }
        // The runtime is ending: no task can wait for grace periods or reap the child.
        self.stdin.close();
        self.group.kill();
        for _ in 0..DROP_WAIT_MS {
            if self.has_ended() {
                break;
            }
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                ended => self.leader_ended(ended.ok().flatten()),
            }
        }
        self.finish();
    }
}
