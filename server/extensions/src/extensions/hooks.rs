//! Actions of the engine as requests to extensions.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, BeforeAgentStartAnswer, BeforeAgentStartHook, BeforeCompactAnswer, CancelAnswer,
    CompactionPlan, ContextAnswer, ContextHook, CustomMessageBuilder, HookEvent, ImageContent, InputAction,
    InputAnswer, InputHook, InputSource, Model, ModelSelectHook, ModelSource, SessionBeforeCompactHook,
    SessionBeforeForkHook, SessionBeforeSwitchHook, SessionCompactHook, SessionForkHook, SessionReason,
    SessionStartHook, SessionSwitchHook, SwitchReason, ToolCall, ToolCallAnswer, ToolCallHook,
    ToolResultAnswer, ToolResultHook, ToolResultHookBuilder,
};
use agentese::wire::Record;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::calls::Failed;
use super::host::{Host, Member};
use super::wire::{object, type_of};
use crate::engine::{Compacting, Hooks, Opening, Selection, Switch, blocks};
use crate::tools::{ToolOutput, ToolSet};

/// Reason for a prompt without an effect.
pub const GIVEN_UP: &str = "it was aborted before it began";

/// Result of the input hooks.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// The input continues, possibly modified.
    Words(String, Vec<ImageContent>),
    /// An extension has handled the input.
    Handled,
    /// An extension rejected the input, with this reason.
    Refused(String),
    /// The input was cancelled: by an abort, or because another session replaced its session.
    GivenUp,
}

impl Host {
    /// Sends a request to all subscribers, one after the other. `take` receives each answer and returns false
    /// to stop.
    async fn each<E: Record + Into<HookEvent>, A: DeserializeOwned>(
        &self,
        mut build: impl FnMut() -> E,
        mut take: impl FnMut(A) -> bool,
    ) {
        for member in self.subscribers(type_of::<E>()) {
            if let Ok(Some(answer)) = self.answer(&member, build().into()).await
                && !take(answer)
            {
                return;
            }
        }
    }

    /// Returns the answer to an event, or `None` if the answer is absent or malformed.
    pub(super) async fn answer<A: DeserializeOwned>(
        &self,
        member: &Member,
        event: HookEvent,
    ) -> Result<Option<A>, Failed> {
        let name = event.tag().to_owned();
        match self.ask(member, event).await? {
            Value::Null => Ok(None),
            value => match serde_json::from_value(value) {
                Ok(answer) => Ok(Some(answer)),
                Err(error) => {
                    let error = format!("its answer is wrong: {error}");
                    if name != type_of::<ToolCallHook>() {
                        self.fail(&member.path, &name, &error);
                    }
                    Err(Failed::Said(error))
                }
            },
        }
    }

    /// Sends an event to all subscribers and ignores their answers; stops at an abort.
    async fn tell_all<E: Record + Into<HookEvent>>(&self, build: impl FnMut() -> E) {
        let _ = self.before.unless_given_up(self.each(build, |_: Value| true)).await;
    }

    /// Returns true if no subscriber cancels the action and the action is not aborted.
    async fn goes_on<E: Record + Into<HookEvent>>(&self, build: impl FnMut() -> E) -> bool {
        let mut goes_on = true;
        let asked = self.each(build, |answer: CancelAnswer| {
            goes_on = answer.cancel != Some(true);
            goes_on
        });
        self.before.unless_given_up(asked).await.is_some() && goes_on
    }

    /// Runs the input hooks for input of the user, or of an extension on the user's behalf.
    pub async fn input(&self, text: String, images: Vec<ImageContent>, source: InputSource) -> Heard {
        self.before.unless_given_up(self.transformed(text, images, source)).await.unwrap_or(Heard::GivenUp)
    }

    async fn transformed(
        &self,
        mut text: String,
        mut images: Vec<ImageContent>,
        source: InputSource,
    ) -> Heard {
        for member in self.subscribers(type_of::<InputHook>()) {
            let mut event = InputHook::new(&text, source.clone());
            event.images = Some(images.clone()).filter(|images| !images.is_empty());
            let Ok(Some(answer)) = self.answer::<InputAnswer>(&member, event.into()).await else { continue };
            match answer.action {
                InputAction::Handled => return Heard::Handled,
                InputAction::Refuse => {
                    return Heard::Refused(
                        answer.text.unwrap_or_else(|| "an extension refused it".to_owned()),
                    );
                }
                InputAction::Transform => {
                    text = answer.text.unwrap_or(text);
                    images = answer.images.unwrap_or(images);
                }
                InputAction::Continue => {}
            }
        }
        Heard::Words(text, images)
    }

    /// Reports a session switch to extensions: the end of the old session and the start of the new session.
    async fn start_anew(&self, reason: SessionReason, previous: Option<&Path>) {
        self.tell_all(|| self.good_bye(reason.clone())).await;
        let build = || {
            let mut event = SessionStartHook::new();
            event.reason = Some(reason.clone());
            event.previous_session_file = previous.map(path);
            event
        };
        self.tell_all(build).await;
    }

    /// Returns the reason for blocking a call, or `None`.
    async fn blocks(&self, call: &ToolCall) -> Option<String> {
        if let Some(reason) = self.unguarded().await {
            return Some(reason);
        }
        for member in self.subscribers(type_of::<ToolCallHook>()) {
            let event = ToolCallHook::new(&call.id, &call.name, call.arguments.clone());
            match self.answer::<ToolCallAnswer>(&member, event.into()).await {
                Ok(Some(answer)) if answer.block == Some(true) => {
                    return Some(answer.reason.unwrap_or_else(|| format!("Blocked by {}", member.path)));
                }
                Ok(_) => {}
                Err(Failed::Said(error)) => return Some(error),
                // Without an answer the call is not permitted.
                Err(Failed::TimedOut(_) | Failed::Gone) => {
                    return Some(format!("Blocked: {} did not say whether this may run", member.path));
                }
            }
        }
        None
    }
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn reason(switch: Switch<'_>) -> SwitchReason {
    match switch {
        Switch::New => SwitchReason::New,
        Switch::Resume(_) => SwitchReason::Resume,
    }
}

impl Hooks for Host {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        self.all_tools(own)
    }

    fn before_switch<'a>(&'a self, switch: Switch<'a>) -> BoxFuture<'a, bool> {
        let build = move || {
            let mut event = SessionBeforeSwitchHook::new(reason(switch));
            if let Switch::Resume(file) = switch {
                event.target_session_file = Some(path(file));
            }
            event
        };
        self.goes_on(build).boxed()
    }

    fn switched<'a>(&'a self, switch: Switch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        self.give_up();
        self.end_dialogs();
        if self.sessions_start_anew() {
            let reason = match switch {
                Switch::New => SessionReason::New,
                Switch::Resume(_) => SessionReason::Resume,
            };
            return self.start_anew(reason, previous).boxed();
        }
        let build = move || {
            let mut event = SessionSwitchHook::new(reason(switch));
            event.previous_session_file = previous.map(path);
            event
        };
        self.tell_all(build).boxed()
    }

    fn before_fork<'a>(&'a self, entry: &'a str) -> BoxFuture<'a, bool> {
        self.goes_on(move || SessionBeforeForkHook::new(entry)).boxed()
    }

    fn forked<'a>(&'a self, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        self.give_up();
        self.end_dialogs();
        if self.sessions_start_anew() {
            return self.start_anew(SessionReason::Fork, previous).boxed();
        }
        let build = move || {
            let mut event = SessionForkHook::new();
            event.previous_session_file = previous.map(path);
            event
        };
        self.tell_all(build).boxed()
    }

    fn minds_compaction(&self) -> bool {
        self.is_wanted(type_of::<SessionBeforeCompactHook>())
            || self.is_wanted(type_of::<SessionCompactHook>())
    }

    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, Compacting> {
        async move {
            let mut compacting = Compacting::Usual;
            let build = || {
                let entries = entries.iter().cloned().map(object).collect();
                let mut event = SessionBeforeCompactHook::new(plan.clone(), entries);
                event.custom_instructions = focus.map(str::to_owned);
                event
            };
            let asked = self.each(build, |answer: BeforeCompactAnswer| {
                if answer.cancel == Some(true) {
                    compacting = Compacting::Cancelled;
                } else if let Some(given) = answer.compaction {
                    compacting = Compacting::Given(Box::new(given));
                }
                !matches!(compacting, Compacting::Cancelled)
            });
            let said = self.before.unless_given_up(asked).await;
            said.map_or(Compacting::Cancelled, |()| compacting)
        }
        .boxed()
    }

    fn compacted<'a>(&'a self, entry: Value, given: bool) -> BoxFuture<'a, ()> {
        let build = move || SessionCompactHook::new(object(entry.clone()), given);
        self.tell_all(build).boxed()
    }

    fn before_run<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        system_prompt: &'a str,
    ) -> BoxFuture<'a, Opening> {
        async move {
            let mut opening = Opening::default();
            for member in self.subscribers(type_of::<BeforeAgentStartHook>()) {
                let prompt = opening.system_prompt.as_deref().unwrap_or(system_prompt);
                let mut event = BeforeAgentStartHook::new(text, prompt);
                event.images = Some(images.to_vec()).filter(|images| !images.is_empty());
                let answer = self.answer::<BeforeAgentStartAnswer>(&member, event.into()).await;
                let Ok(Some(answer)) = answer else { continue };
                opening.messages.extend(answer.message.map(|message| {
                    let mut custom = CustomMessageBuilder {
                        custom_type: message.custom_type,
                        content: message.content,
                        display: message.display,
                        timestamp: 0,
                    }
                    .build();
                    custom.details = message.details;
                    custom
                }));
                opening.system_prompt = answer.system_prompt.or(opening.system_prompt);
            }
            opening
        }
        .boxed()
    }

    fn minds_context(&self) -> bool {
        self.is_wanted(type_of::<ContextHook>())
    }

    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        async move {
            let mut messages = messages;
            for member in self.subscribers(type_of::<ContextHook>()) {
                let seen = messages.iter().map(|message| AgentMessage::clone(message)).collect();
                let answer = self.answer::<ContextAnswer>(&member, ContextHook::new(seen).into()).await;
                if let Ok(Some(ContextAnswer { messages: Some(replaced), .. })) = answer {
                    messages = replaced.into_iter().map(Arc::new).collect();
                }
            }
            messages
        }
        .boxed()
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        self.blocks(call).map(|reason| reason.map_or(Ok(()), Err)).boxed()
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: ToolOutput) -> BoxFuture<'a, ToolOutput> {
        async move {
            let mut output = output;
            for member in self.subscribers(type_of::<ToolResultHook>()) {
                let content = blocks(&output.content);
                let input = call.arguments.clone();
                let mut event = ToolResultHookBuilder {
                    tool_call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    input,
                    content,
                    is_error: output.is_error,
                }
                .build();
                event.details = output.details.clone().into();
                let answer = self.answer::<ToolResultAnswer>(&member, event.into()).await;
                let Ok(Some(answer)) = answer else { continue };
                if let Some(content) = answer.content {
                    output.content = super::tool::contents(content);
                    // The structured result no longer matches the new content.
                    output.structured = None;
                }
                if !answer.details.is_absent() {
                    output.details = answer.details.into_option();
                }
                output.is_error = answer.is_error.unwrap_or(output.is_error);
            }
            output
        }
        .boxed()
    }

    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: Selection) {
        let source = match selection {
            Selection::Set => ModelSource::Set,
            Selection::Cycled => ModelSource::Cycle,
            Selection::Restored => ModelSource::Restore,
        };
        for member in self.subscribers(type_of::<ModelSelectHook>()) {
            // The handler sees the new model in the agent's state.
            self.refresh(&member.process);
            let event = ModelSelectHook::new(model.clone(), previous.cloned(), source.clone());
            self.tell(&member, event.into());
        }
    }
}
