//! Handling of extensions whose process ended by itself or no longer answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agentese::types::{HostFrame, HostLoad, ToolCallHook};
use serde_json::Value;

use super::calls::{Asked, Failed};
use super::host::{Host, Member};
use super::process::{End, Process};
use super::wire::type_of;

impl Host {
    /// Waits for restarting extensions, at most as long as the time limit of a start, so that their guards
    /// stay effective. Returns false if the pending action is cancelled.
    pub async fn restarted(&self) -> bool {
        if self.options.limits.restarts == 0 {
            return true;
        }
        // A process that just ended and has not been evaluated yet is included.
        let all_there = self.restarting.over_when(|| !self.is_burying());
        let waited = tokio::time::timeout(self.options.limits.start, all_there);
        self.before.unless_given_up(waited).await.is_some()
    }

    pub(super) fn is_burying(&self) -> bool {
        let ends = |process: &Arc<Process>| process.has_ended() || process.calls.are_closed();
        !self.is_closing() && self.state().processes.iter().any(ends)
    }

    /// Handles the end of a process. An unexpected end is reported to the client once, and the process is
    /// restarted up to the configured number of times. A process that has never reported its contents is not
    /// restarted, because it would not report them the next time either.
    pub(super) fn buried(&self, process: &Arc<Process>, end: Option<End>) {
        let again = end.is_some()
            && (process.was_introduced() || self.guards.were_there(&process.paths()))
            && !self.is_closing()
            && self.restarts.fetch_add(1, Ordering::AcqRel) < self.options.limits.restarts;
        // The restart is counted before the members are removed.
        let underway = self.restarting.begin();
        let place = {
            let mut state = self.state();
            state.processes.retain(|known| !Arc::ptr_eq(known, process));
            let place = state.members.iter().position(|member| Arc::ptr_eq(&member.process, process));
            state.members.retain(|member| !Arc::ptr_eq(&member.process, process));
            place
        };
        self.watch.remove(process);
        let Some(End { by, why }) = end else { return };
        self.guards.are_gone(&process.paths(), &why);
        let why = match &process.paths()[..] {
            [] | [_] => why,
            all => format!("{why} (it served {})", all.join(", ")),
        };
        self.fail(&by, "process", &why);
        let Some(me) = self.me.upgrade().filter(|_| again) else { return };
        let (process, words, paths) = (process.clone(), process.words.clone(), process.paths());
        tokio::spawn(async move {
            let loading = me.loading.lock().await;
            let members = match process.loads_more() {
                // Another Node process may have started meanwhile.
                true => me.load_for_node(paths).await,
                false => me.start(words, paths).await,
            };
            let place = place.unwrap_or(usize::MAX);
            {
                let mut state = me.state();
                let place = place.min(state.members.len());
                state.members.splice(place..place, members.iter().cloned());
            }
            drop((loading, underway));
            me.welcome(&members).await;
        });
    }

    /// Handles an extension that exceeded its time limit: later requests do not wait for it. A process with
    /// one extension is ended. A shared process continues without the extension, provided that the process
    /// still answers.
    pub(super) async fn is_silent(&self, member: &Member, event: &str, limit: Duration) {
        member.silent.store(true, Ordering::Release);
        let error = format!("no answer to {event} within {} ms", limit.as_millis());
        if member.process.paths().len() == 1 {
            return member.process.fault(error);
        }
        let Some(me) = self.me.upgrade() else { return };
        let member = member.clone();
        let event = event.to_owned();
        // Continues after the caller stopped waiting.
        let looked = tokio::spawn(async move {
            match me.is_alive(&member.process).await {
                Ok(_) | Err(Failed::Said(_)) => me.fail(&member.path, &event, &error),
                Err(Failed::TimedOut(_)) => {
                    let by = member.process.calls.first_unheard().unwrap_or(member.path);
                    member.process.fault_of(by, format!("{error}, and none to anything else"));
                }
                // The end of the process was reported already.
                Err(Failed::Gone) => {}
            }
        });
        let _ = looked.await;
    }

    /// Sends a process the smallest request: to load nothing. A process without support for this request is
    /// considered alive.
    async fn is_alive(&self, process: &Process) -> Result<Value, Failed> {
        if !process.loads_more() {
            return Ok(Value::Null);
        }
        let nothing = |id: String| HostFrame::from(HostLoad::new(id, Vec::new()));
        process.ask(Asked::new(""), nothing, Some(self.options.limits.hook)).await
    }

    /// Restores extensions of a process that has answered late.
    pub(super) fn speaks_again(&self, process: &Arc<Process>) {
        for member in self.state().members.iter().filter(|member| Arc::ptr_eq(&member.process, process)) {
            member.silent.store(false, Ordering::Release);
        }
    }
}

impl Host {
    /// Returns the reason for blocking tools, or `None`. First waits for starting extensions, at most as long
    /// as the time limit of a start.
    pub(super) async fn unguarded(&self) -> Option<String> {
        let arrived = async {
            tokio::join!(self.arriving.over(), self.restarting.over_when(|| !self.is_burying()));
        };
        let _ = tokio::time::timeout(self.options.limits.start, arrived).await;
        if self.options.limits.unguarded {
            return None;
        }
        let there: Vec<String> =
            self.subscribers(type_of::<ToolCallHook>()).into_iter().map(|member| member.path).collect();
        self.guards.missing(|path| there.iter().any(|known| known == path))
    }
}
