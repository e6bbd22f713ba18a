//! Commands that the user runs.

use std::sync::Arc;

use agentese::types::{AgentMessage, BashExecutionMessageBuilder};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::engine::run::policy::RunSpan;
use crate::engine::state::WorkPhase;
use crate::tools::{RpcBashError, RpcBashOutput, run_rpc_bash};

/// Base of the exit codes that shells give to commands ended by a signal.
const SIGNAL_EXIT_BASE: i32 = 128;

impl Engine {
    /// Runs a shell command of the user at the same time as other work. The output joins the session at once;
    /// during a run, it joins before the next prompt. If the command is `hidden`, the model does not receive the
    /// output. `shown` receives the output while the command runs. Fails if the command did not start or was
    /// killed.
    pub async fn bash(
        &self,
        command: &str,
        hidden: bool,
        shown: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RpcBashOutput, RpcBashError> {
        let mut context = self.shared.context().clone();
        let session = {
            let state = self.shared.state();
            context.abort = state.bash_abort.child_token();
            state.session.id().to_owned()
        };
        let policy = &self.shared.options.profile.shell;
        let result = match policy.keeps_state {
            _ if self.is_remote() => self.run_remote_bash(command, hidden, shown).await,
            true => self.shared.shell.run(&context, command).await,
            false => run_rpc_bash(&context, command, shown).await,
        };
        let result = match result {
            Err(RpcBashError::Killed { number, partial, .. }) if policy.signal_exit_codes => {
                Ok(RpcBashOutput { exit_code: Some(SIGNAL_EXIT_BASE + number), ..*partial })
            }
            other => other,
        };
        let moved = self.shared.state().session.id() != session;
        if moved && policy.ends_with_session {
            return result;
        }
        match &result {
            Ok(output) => self.record_command(command, output, output.cancelled, hidden).await,
            // The output before the end is known, and the model needs it too.
            Err(error) => {
                if let Some(partial) = error.partial() {
                    self.record_command(command, partial, true, hidden).await;
                }
            }
        }
        result
    }

    /// Runs a command in the remote agent.
    async fn run_remote_bash(
        &self,
        command: &str,
        hidden: bool,
        shown: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RpcBashOutput, RpcBashError> {
        match &self.shared.remote {
            Some(remote) => remote.agent.bash(command, hidden, shown).await.map_err(RpcBashError::Remote),
            None => Err(RpcBashError::Remote(String::new())),
        }
    }

    /// Stops every running command. Later commands are not affected.
    pub fn abort_bash(&self) {
        if let Some(remote) = &self.shared.remote {
            remote.agent.abort_bash();
        }
        let stopped = std::mem::replace(&mut self.shared.state().bash_abort, CancellationToken::new());
        stopped.cancel();
    }

    async fn record_command(&self, command: &str, output: &RpcBashOutput, cancelled: bool, hidden: bool) {
        let now = self.shared.options.clock.now_ms();
        let mut message = BashExecutionMessageBuilder {
            command: command.into(),
            output: output.output.clone(),
            cancelled,
            truncated: output.truncated,
            timestamp: now,
        }
        .build();
        message.exclude_from_context = hidden.then_some(true);
        message.exit_code = output.exit_code.map(i64::from).into();
        let path = output.full_output_path.as_ref();
        message.full_output_path = path.map(|path| path.to_string_lossy().into_owned()).into();
        let message = Arc::new(AgentMessage::from(message));
        {
            let mut state = self.shared.state();
            let until_settled = self.shared.options.profile.run.span == RunSpan::UntilSettled;
            if state.phase() == Some(WorkPhase::Running) || (until_settled && state.is_working()) {
                return state.deferred.push(message);
            }
            state.session.append(message);
        }
        self.shared.wait_until_written().await;
        self.shared.emit_storage_status(&mut self.shared.state());
    }
}
