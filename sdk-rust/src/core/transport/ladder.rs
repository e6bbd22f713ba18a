//! Ending a child and its process group, one rung after another, whoever asks for it and whenever.

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

/// How long a killed group is waited for. Only a process stuck in the kernel takes longer; the system reaps it.
const KILL_WAIT: Duration = Duration::from_secs(2);
/// How soon, and then how often at most, a group without its leader is looked at.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LAST_LOOK: Duration = Duration::from_millis(50);
/// How long a dropped runtime is held up for reaping a killed child.
const DROP_WAIT_MS: u32 = 500;

/// What is known of a child from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The leader has ended.
    pub(super) exit: Option<Exit>,
    /// Its whole group has ended, or was killed.
    pub(super) over: bool,
}

/// The task that owns a child from its start to its end.
///
/// It drains stderr throughout, notices the end of the process whoever holds the pipes, and takes the group
/// down the ladder when asked, when the handle is dropped, and when the leader ended by itself and left others
/// behind. Where the runtime drops it half way, it kills the group on the spot.
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
    /// Runs until the group is over. `asked` turns true, or loses its sender, when the child should end.
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
        self.over();
    }

    /// Waits until leader and group have ended; says false where they have not in time.
    async fn settle(&mut self, grace: Duration) -> bool {
        let mut deadline = std::pin::pin!(sleep(grace));
        let mut pause = FIRST_LOOK;
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
                    pause = LAST_LOOK.min(pause * 2);
                }
                () = &mut deadline => return false,
                () = self.stderr.step() => {}
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.progress.borrow().exit.is_some()
    }

    /// Tells everyone. Without a status (somebody else reaped the child) there is neither code nor signal.
    fn leader_ended(&mut self, status: Option<ExitStatus>) {
        self.stderr.take_ready();
        let exit = Exit {
            code: status.and_then(|status| status.code()),
            signal: status.and_then(system::signal_of),
            stderr_tail: self.stderr.tail().text(),
        };
        self.progress.send_modify(|progress| progress.exit = Some(exit));
    }

    fn over(&mut self) {
        self.group.finish();
        if !self.has_ended() {
            self.leader_ended(None);
        }
        self.stderr.end();
        self.progress.send_modify(|progress| progress.over = true);
    }
}

impl Drop for ShutdownLadder {
    fn drop(&mut self) {
        if self.progress.borrow().over {
            return;
        }
        // The runtime is going: nobody will wait for grace periods, and nobody would reap.
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
        self.over();
    }
}
