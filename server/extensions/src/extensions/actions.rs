//! Actions that extensions request from the agent.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    Cancellation, CustomMessageBuilder, DeliverAs, ExtensionFrame, InputBlock, InputContent, InputSource,
    OfferedExtension, SendMessageAction, SendUserMessageAction, SessionEntries, SetModelResult,
};
use serde_json::Value;

use super::guards::subscribes_to_tool_calls;
use super::hooks::{CANCELLED, InputHookResult};
use super::host::Host;
use super::process::Process;
use super::response::{reject, respond};
use super::state_updates;
use super::wire::{object, type_of};
use crate::engine::{Delivery, Engine, ExtensionDelivery, InputQueue, UserInput};

/// Result of an action, or the reason for its rejection.
type ActionResult = Result<Value, String>;

fn no_result() -> ActionResult {
    Ok(Value::Null)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn value(result: impl serde::Serialize) -> ActionResult {
    serde_json::to_value(result).map_err(text)
}

fn cancelled(done: bool) -> ActionResult {
    value(Cancellation::new(!done))
}

impl Host {
    /// Carries out an action that an extension requests. A slow action continues in the background.
    pub(super) fn handle_action(&self, process: &Arc<Process>, action: ExtensionFrame) {
        use ExtensionFrame as Do;
        let Some(engine) = self.engine() else { return };
        let kind = action.tag().to_owned();
        let end = |id: Option<String>, extension: Option<String>, ended: ActionResult| {
            self.finish_action(process, id.as_deref(), extension.as_deref(), &kind, ended);
        };
        match action {
            Do::SendMessage(action) => {
                let (id, extension) = (action.id.clone(), action.extension.clone());
                end(id, extension, self.send_message(process, &engine, action));
            }
            Do::SendUserMessage(action) => self.send_user_message(process, action),
            Do::AppendEntry(action) => {
                engine.append_entry(&action.custom_type, action.data.as_option());
                end(action.id, action.extension, no_result());
            }
            Do::SetSessionName(action) => {
                end(
                    action.id,
                    None,
                    engine.set_session_name(&action.name).map_err(text).map(|()| Value::Null),
                );
            }
            Do::SetLabel(action) => {
                let found = engine.label(&action.entry_id, action.label.as_option().map(String::as_str));
                let missing = || format!("unknown entry {}", action.entry_id);
                end(action.id, None, if found { no_result() } else { Err(missing()) });
            }
            Do::SetActiveTools(action) => {
                self.registry().active = Some(action.tools);
                end(action.id, None, no_result());
            }
            Do::SetModel(action) => {
                let found = engine.set_model(&action.provider, &action.model_id).is_some();
                end(action.id, None, value(SetModelResult::new(found)));
            }
            Do::SetThinkingLevel(action) => {
                engine.set_thinking(action.level);
                end(action.id, None, no_result());
            }
            Do::Abort(action) => {
                self.cancel_pending();
                tokio::spawn(async move { engine.abort().await });
                end(action.id, None, no_result());
            }
            Do::Shutdown(action) => {
                end(action.id, None, no_result());
                self.end_agent(process);
            }
            Do::GetState(action) => {
                end(Some(action.id), None, value(state_updates::host_state(self, &engine)))
            }
            Do::GetEntries(action) => end(Some(action.id), None, value(entries(&engine))),
            Do::Register(action) => end(action.id, None, self.register(process, action.offered)),
            Do::WaitForIdle(action) if engine.is_idle() => end(Some(action.id), None, no_result()),
            later => self.handle_slow_action(process, later),
        }
        self.schedule_refresh();
    }

    /// Carries out a slow action in the background. All running commands of the process are then considered accepted,
    /// so that no prompt waits for them.
    fn handle_slow_action(&self, process: &Arc<Process>, action: ExtensionFrame) {
        use ExtensionFrame as Do;
        let (Some(me), Some(engine)) = (self.me.upgrade(), self.engine()) else { return };
        accept_all(process);
        let (process, kind) = (process.clone(), action.tag().to_owned());
        tokio::spawn(async move {
            let (id, ended) = match action {
                Do::Compact(action) => {
                    let result = engine.compact(action.custom_instructions.as_deref()).await;
                    (action.id, result.map_err(text).and_then(value))
                }
                Do::WaitForIdle(action) => {
                    engine.wait_until_idle().await;
                    (Some(action.id), no_result())
                }
                Do::NewSession(action) => {
                    (action.id, cancelled(engine.new_session(action.parent_session).await))
                }
                Do::Fork(action) => {
                    let result = engine.fork(&action.entry_id).await;
                    (action.id, result.map_err(text).and_then(|(_, done)| cancelled(done)))
                }
                Do::SwitchSession(action) => {
                    let result = engine.switch_session(Path::new(&action.path)).await;
                    (action.id, result.map_err(text).and_then(cancelled))
                }
                _ => return,
            };
            me.refresh(&process);
            me.finish_action(&process, id.as_deref(), None, &kind, ended);
        });
    }

    /// Sends the response to an action with an id. An action without an id receives no response; if it is rejected, the
    /// client receives the error.
    fn finish_action(
        &self,
        process: &Process,
        id: Option<&str>,
        extension: Option<&str>,
        kind: &str,
        ended: ActionResult,
    ) {
        match (id, ended) {
            (Some(id), Ok(result)) => respond(process, id, &result),
            (Some(id), Err(error)) => reject(process, id, error),
            (None, Ok(_)) => {}
            (None, Err(error)) => self.report_failure(extension.unwrap_or(&process.name()), kind, &error),
        }
    }

    fn send_message(&self, process: &Process, engine: &Engine, action: SendMessageAction) -> ActionResult {
        let sent = action.message;
        let mut message = CustomMessageBuilder {
            custom_type: sent.custom_type,
            content: sent.content,
            display: sent.display,
            timestamp: 0,
        }
        .build();
        message.details = sent.details;
        let delivery = match action.deliver_as {
            Some(DeliverAs::FollowUp) => ExtensionDelivery::FollowUp,
            Some(DeliverAs::NextTurn) => ExtensionDelivery::NextTurn,
            Some(DeliverAs::Steer) | None => ExtensionDelivery::Steer,
        };
        let accepted =
            engine.custom_message(message, delivery, action.trigger_turn == Some(true)).map_err(text)?;
        if let Some(accepted) = accepted {
            // The response to the command that sent the message precedes the first event of the run.
            accept_all(process);
            accepted.start();
        }
        no_result()
    }

    fn send_user_message(&self, process: &Arc<Process>, action: SendUserMessageAction) {
        let (Some(me), Some(engine)) = (self.me.upgrade(), self.engine()) else { return };
        accept_all(process);
        let (process, kind) = (process.clone(), type_of::<SendUserMessageAction>());
        tokio::spawn(async move {
            let ended = me.submit_input(&engine, action.content, action.deliver_as).await;
            me.finish_action(&process, action.id.as_deref(), action.extension.as_deref(), kind, ended);
        });
    }

    /// Submits input in the name of the user.
    async fn submit_input(
        &self,
        engine: &Engine,
        content: InputContent,
        deliver_as: Option<DeliverAs>,
    ) -> ActionResult {
        let queue = match deliver_as {
            Some(DeliverAs::Steer) => Some(InputQueue::Steer),
            Some(DeliverAs::FollowUp) => Some(InputQueue::FollowUp),
            Some(DeliverAs::NextTurn) => {
                return Err("a user message cannot be deferred to the next turn".to_owned());
            }
            None => None,
        };
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        match content {
            InputContent::Text(text) => texts.push(text),
            InputContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        InputBlock::Text(text) => texts.push(text.text),
                        InputBlock::Image(image) => images.push(image),
                        _ => {}
                    }
                }
            }
        }
        match self.input(texts.join("\n"), images, InputSource::Extension).await {
            InputHookResult::Handled => no_result(),
            InputHookResult::Rejected(reason) => Err(reason),
            InputHookResult::Cancelled => Err(CANCELLED.to_owned()),
            InputHookResult::Input(text_, images) => {
                let input = engine.prepare(UserInput::new(text_, images)).await.map_err(text)?;
                engine.submit(input, Delivery::Prompt(queue)).await.map_err(text)?.start();
                no_result()
            }
        }
    }

    /// Replaces the registered commands, tools and other contents of an extension.
    fn register(&self, process: &Arc<Process>, offered: OfferedExtension) -> ActionResult {
        let offered = self.drop_invalid_tools(offered);
        let mut state = self.registry();
        let member = state
            .loaded
            .iter_mut()
            .find(|member| Arc::ptr_eq(&member.process, process) && member.path == offered.path);
        match member {
            Some(member) => {
                self.guards.record_report(&member.path, subscribes_to_tool_calls(&offered));
                member.offered = offered;
                no_result()
            }
            None => Err(format!("{} is not an extension of this process", offered.path)),
        }
    }

    /// Ends the agent as soon as it is idle.
    fn end_agent(&self, process: &Process) {
        accept_all(process);
        let (Some(engine), stop) = (self.engine(), self.stop.clone()) else { return };
        tokio::spawn(async move {
            engine.wait_until_idle().await;
            stop.cancel();
        });
    }
}

/// Marks all running commands of the process as accepted, so that their prompts continue.
fn accept_all(process: &Process) {
    for call in process.calls.all() {
        call.accept();
    }
}

fn entries(engine: &Engine) -> SessionEntries {
    let entries = engine.entries();
    let mut result = SessionEntries::new(entries.entries.into_iter().map(object).collect(), entries.leaf);
    result.header = Some(object(entries.header));
    result
}
