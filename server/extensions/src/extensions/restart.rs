//! Handling of extensions whose process has ended unexpectedly or does not answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agentese::types::{HostFrame, HostLoad, ToolCallHook};
use serde_json::Value;

use super::calls::{CallError, PendingCall};
use super::host::{Host, LoadedExtension};
use super::process::{Process, ProcessEnd};
use super::wire::type_of;

impl Host {
    /// Waits until restarts in progress have finished, so that restarted guards are effective. The time limit of a
    /// start bounds the wait. Returns false if the pending action is cancelled first.
    pub async fn wait_for_restarts(&self) -> bool {
        if self.options.limits.restarts == 0 {
            return true;
        }
        // A process that just ended and has not been evaluated yet is included.
        let all_there = self.pending_restarts.wait_finished_when(|| !self.has_unhandled_exit());
        let waited = tokio::time::timeout(self.options.limits.start, all_there);
        self.pre_hooks.unless_cancelled(waited).await.is_some()
    }

    pub(super) fn has_unhandled_exit(&self) -> bool {
        let ends = |process: &Arc<Process>| process.has_ended() || process.calls.are_closed();
        !self.is_closing() && self.registry().processes.iter().any(ends)
    }

    /// Handles the end of a process. An unexpected end is reported to the client once, and the process is restarted up
    /// to the configured number of times. A process that never reported its contents is not restarted, because it would
    /// fail again.
    pub(super) fn handle_exit(&self, process: &Arc<Process>, end: Option<ProcessEnd>) {
        let again = end.is_some()
            && (process.was_introduced() || self.guards.have_run(&process.paths()))
            && !self.is_closing()
            && self.restarts.fetch_add(1, Ordering::AcqRel) < self.options.limits.restarts;
        // The restart is counted before the members are removed.
        let pending_start = self.pending_restarts.start();
        let index = {
            let mut state = self.registry();
            state.processes.retain(|known| !Arc::ptr_eq(known, process));
            let index = state.loaded.iter().position(|member| Arc::ptr_eq(&member.process, process));
            state.loaded.retain(|member| !Arc::ptr_eq(&member.process, process));
            index
        };
        self.state_subscribers.remove(process);
        let Some(ProcessEnd { extension: by, reason: why }) = end else { return };
        self.guards.record_absence(&process.paths(), &why);
        let why = match &process.paths()[..] {
            [] | [_] => why,
            all => format!("{why} (it served {})", all.join(", ")),
        };
        self.report_failure(&by, "process", &why);
        let Some(me) = self.me.upgrade().filter(|_| again) else { return };
        let (process, command, paths) = (process.clone(), process.command_line.clone(), process.paths());
        tokio::spawn(async move {
            let loading = me.loading.lock().await;
            let members = match process.loads_more() {
                // Another Node process may have started meanwhile.
                true => me.load_for_node(paths).await,
                false => me.start_process(command, paths).await,
            };
            let index = index.unwrap_or(usize::MAX);
            {
                let mut state = me.registry();
                let index = index.min(state.loaded.len());
                state.loaded.splice(index..index, members.iter().cloned());
            }
            drop((loading, pending_start));
            me.send_start_events(&members).await;
        });
    }

    /// Handles an extension that exceeded its time limit. Later requests do not wait for it. Its process is ended,
    /// unless the process also runs other extensions and still answers.
    pub(super) async fn handle_timeout(&self, member: &LoadedExtension, event: &str, limit: Duration) {
        member.unresponsive.store(true, Ordering::Release);
        let error = format!("no answer to {event} within {} ms", limit.as_millis());
        if member.process.paths().len() == 1 {
            return member.process.fail(error);
        }
        let Some(me) = self.me.upgrade() else { return };
        let member = member.clone();
        let event = event.to_owned();
        // Continues after the caller stopped waiting.
        let looked = tokio::spawn(async move {
            match me.ping(&member.process).await {
                Ok(_) | Err(CallError::Extension(_)) => me.report_failure(&member.path, &event, &error),
                Err(CallError::TimedOut(_)) => {
                    let by = member.process.calls.first_unanswered().unwrap_or(member.path);
                    member.process.fail_by(by, format!("{error}, and no answer to other requests"));
                }
                // The end of the process was reported already.
                Err(CallError::Disconnected) => {}
            }
        });
        let _ = looked.await;
    }

    /// Sends a process a request to load nothing. If the process does not support loading, it is considered alive.
    async fn ping(&self, process: &Process) -> Result<Value, CallError> {
        if !process.loads_more() {
            return Ok(Value::Null);
        }
        let nothing = |id: String| HostFrame::from(HostLoad::new(id, Vec::new()));
        process.request(PendingCall::new(""), nothing, Some(self.options.limits.hook)).await
    }

    /// Allows requests to the extensions of a process again, because the process has answered late.
    pub(super) fn restore_extensions(&self, process: &Arc<Process>) {
        for member in self.registry().loaded.iter().filter(|member| Arc::ptr_eq(&member.process, process)) {
            member.unresponsive.store(false, Ordering::Release);
        }
    }
}

impl Host {
    /// Returns the reason for blocking tools because a guard does not run, or `None`. First waits for extensions that
    /// are starting; the time limit of a start bounds the wait.
    pub(super) async fn unguarded_reason(&self) -> Option<String> {
        let arrived = async {
            tokio::join!(
                self.pending_loads.wait_finished(),
                self.pending_restarts.wait_finished_when(|| !self.has_unhandled_exit())
            );
        };
        let _ = tokio::time::timeout(self.options.limits.start, arrived).await;
        if self.options.limits.unguarded {
            return None;
        }
        let there: Vec<String> =
            self.subscribers(type_of::<ToolCallHook>()).into_iter().map(|member| member.path).collect();
        self.guards.block_reason(|path| there.iter().any(|known| known == path))
    }
}
