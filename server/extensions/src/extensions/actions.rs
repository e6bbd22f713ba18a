//! Actions of extensions on the agent.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    Cancellation, CustomMessageBuilder, DeliverAs, DoSendMessage, DoSendUserMessage, ExtensionFrame,
    FoundResult, InputBlock, InputContent, InputSource, OfferedExtension, SessionEntries,
};
use serde_json::Value;

use super::guards::guards;
use super::hooks::{GIVEN_UP, Heard};
use super::host::Host;
use super::process::Process;
use super::response::{answer, refuse};
use super::watch;
use super::wire::{object, type_of};
use crate::engine::{Delivery, Engine, Input, StreamingBehavior};

/// Result of an action, or the reason for its rejection.
type ActionResult = Result<Value, String>;

fn done() -> ActionResult {
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
    /// Carries out an action. A slow action continues in the background.
    pub(super) fn act(&self, process: &Arc<Process>, action: ExtensionFrame) {
        use ExtensionFrame as Do;
        let Some(engine) = self.engine() else { return };
        let kind = action.tag().to_owned();
        let end = |id: Option<String>, extension: Option<String>, ended: ActionResult| {
            self.end(process, id.as_deref(), extension.as_deref(), &kind, ended);
        };
        match action {
            Do::SendMessage(action) => {
                let (id, extension) = (action.id.clone(), action.extension.clone());
                end(id, extension, self.send_message(process, &engine, action));
            }
            Do::SendUserMessage(action) => self.send_user_message(process, action),
            Do::AppendEntry(action) => {
                engine.append_entry(&action.custom_type, action.data.as_option());
                end(action.id, action.extension, done());
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
                end(action.id, None, if found { done() } else { Err(missing()) });
            }
            Do::SetActiveTools(action) => {
                self.state().active = Some(action.tools);
                end(action.id, None, done());
            }
            Do::SetModel(action) => {
                let found = engine.set_model(&action.provider, &action.model_id).is_some();
                end(action.id, None, value(FoundResult::new(found)));
            }
            Do::SetThinkingLevel(action) => {
                engine.set_thinking(action.level);
                end(action.id, None, done());
            }
            Do::Abort(action) => {
                self.give_up();
                tokio::spawn(async move { engine.abort().await });
                end(action.id, None, done());
            }
            Do::Shutdown(action) => {
                end(action.id, None, done());
                self.end_agent(process);
            }
            Do::GetState(action) => end(Some(action.id), None, value(watch::state(self, &engine))),
            Do::GetEntries(action) => end(Some(action.id), None, value(entries(&engine))),
            Do::Register(action) => end(action.id, None, self.register(process, action.offered)),
            Do::WaitForIdle(action) if engine.is_idle() => end(Some(action.id), None, done()),
            later => self.act_later(process, later),
        }
        self.changed();
    }

    /// Carries out a slow action in the background. A command that requests such an action is treated as
    /// accepted.
    fn act_later(&self, process: &Arc<Process>, action: ExtensionFrame) {
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
                    (Some(action.id), done())
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
            me.end(&process, id.as_deref(), None, &kind, ended);
        });
    }

    /// Sends the response if the action has an id. Without an id only a rejection is reported, to the client.
    fn end(
        &self,
        process: &Process,
        id: Option<&str>,
        extension: Option<&str>,
        kind: &str,
        ended: ActionResult,
    ) {
        match (id, ended) {
            (Some(id), Ok(result)) => answer(process, id, &result),
            (Some(id), Err(error)) => refuse(process, id, error),
            (None, Ok(_)) => {}
            (None, Err(error)) => self.fail(extension.unwrap_or(&process.name()), kind, &error),
        }
    }

    fn send_message(&self, process: &Process, engine: &Engine, action: DoSendMessage) -> ActionResult {
        let said = action.message;
        let mut message = CustomMessageBuilder {
            custom_type: said.custom_type,
            content: said.content,
            display: said.display,
            timestamp: 0,
        }
        .build();
        message.details = said.details;
        let delivery = match action.deliver_as {
            Some(DeliverAs::FollowUp) => Delivery::FollowUp,
            Some(DeliverAs::NextTurn) => Delivery::NextTurn,
            Some(DeliverAs::Steer) | None => Delivery::Steer,
        };
        let begun =
            engine.custom_message(message, delivery, action.trigger_turn == Some(true)).map_err(text)?;
        if let Some(begun) = begun {
            // The response to the command that sent the message precedes the first event of the run.
            accept_all(process);
            begun.start();
        }
        done()
    }

    fn send_user_message(&self, process: &Arc<Process>, action: DoSendUserMessage) {
        let (Some(me), Some(engine)) = (self.me.upgrade(), self.engine()) else { return };
        accept_all(process);
        let (process, kind) = (process.clone(), type_of::<DoSendUserMessage>());
        tokio::spawn(async move {
            let ended = me.say(&engine, action.content, action.deliver_as).await;
            me.end(&process, action.id.as_deref(), action.extension.as_deref(), kind, ended);
        });
    }

    /// Submits input on behalf of the user.
    async fn say(
        &self,
        engine: &Engine,
        content: InputContent,
        deliver_as: Option<DeliverAs>,
    ) -> ActionResult {
        let streaming = match deliver_as {
            Some(DeliverAs::Steer) => Some(StreamingBehavior::Steer),
            Some(DeliverAs::FollowUp) => Some(StreamingBehavior::FollowUp),
            Some(DeliverAs::NextTurn) => {
                return Err("a message of the user cannot wait for the next one".to_owned());
            }
            None => None,
        };
        let (mut words, mut images) = (Vec::new(), Vec::new());
        match content {
            InputContent::Text(text) => words.push(text),
            InputContent::Blocks(blocks) => {
                for block in blocks {
                    match block {
                        InputBlock::Text(text) => words.push(text.text),
                        InputBlock::Image(image) => images.push(image),
                        _ => {}
                    }
                }
            }
        }
        match self.input(words.join("\n"), images, InputSource::Extension).await {
            Heard::Handled => done(),
            Heard::Refused(reason) => Err(reason),
            Heard::GivenUp => Err(GIVEN_UP.to_owned()),
            Heard::Words(text_, images) => {
                let input = engine.prepare(Input::new(text_, images)).await.map_err(text)?;
                engine.begin(input, streaming).map_err(text)?.start();
                done()
            }
        }
    }

    /// Replaces the registered contents of an extension.
    fn register(&self, process: &Arc<Process>, offered: OfferedExtension) -> ActionResult {
        let offered = self.usable(offered);
        let mut state = self.state();
        let member = state
            .members
            .iter_mut()
            .find(|member| Arc::ptr_eq(&member.process, process) && member.path == offered.path);
        match member {
            Some(member) => {
                self.guards.says(&member.path, guards(&offered));
                member.offered = offered;
                done()
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

/// Marks all running commands of the process as accepted.
fn accept_all(process: &Process) {
    for asked in process.calls.all() {
        asked.accept();
    }
}

fn entries(engine: &Engine) -> SessionEntries {
    let entries = engine.entries();
    let mut result = SessionEntries::new(entries.entries.into_iter().map(object).collect(), entries.leaf);
    result.header = Some(object(entries.header));
    result
}
