//! Hooks of the engine, implemented by requests to extensions.

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

use super::calls::CallError;
use super::host::{Host, LoadedExtension};
use super::wire::{object, type_of};
use crate::engine::{
    CompactionDecision, Hooks, RunAdditions, SelectionReason, SessionSwitch, content_blocks,
};
use crate::tools::{ToolOutput, ToolSet};

/// Reason reported for a prompt that was aborted before it started.
pub const CANCELLED: &str = "it was aborted before it started";

/// Result of the input hooks.
#[derive(Debug, Clone, PartialEq)]
pub enum InputHookResult {
    /// The prompt continues with this input, which extensions may have changed.
    Input(String, Vec<ImageContent>),
    /// An extension has handled the input.
    Handled,
    /// An extension rejected the input, with this reason.
    Rejected(String),
    /// The input was cancelled by an abort, or because its session was replaced.
    Cancelled,
}

impl Host {
    /// Sends a request to each subscriber, one after the other. `take` receives each answer; if it returns false, the
    /// remaining subscribers receive no request.
    async fn call_each<E: Record + Into<HookEvent>, A: DeserializeOwned>(
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

    /// Sends an event, and returns the answer. Returns `None` if the answer is `null`. Fails if the extension fails or
    /// its answer is malformed.
    pub(super) async fn answer<A: DeserializeOwned>(
        &self,
        member: &LoadedExtension,
        event: HookEvent,
    ) -> Result<Option<A>, CallError> {
        let name = event.tag().to_owned();
        match self.request(member, event).await? {
            Value::Null => Ok(None),
            value => match serde_json::from_value(value) {
                Ok(answer) => Ok(Some(answer)),
                Err(error) => {
                    let error = format!("its answer is not valid: {error}");
                    if name != type_of::<ToolCallHook>() {
                        self.report_failure(&member.path, &name, &error);
                    }
                    Err(CallError::Extension(error))
                }
            },
        }
    }

    /// Sends an event to each subscriber, one after the other, and ignores the answers. Stops if the pending action is
    /// cancelled.
    async fn notify_all<E: Record + Into<HookEvent>>(&self, build: impl FnMut() -> E) {
        let _ = self.pre_hooks.unless_cancelled(self.call_each(build, |_: Value| true)).await;
    }

    /// Returns true if no subscriber cancels the action and the action is not aborted meanwhile.
    async fn is_allowed<E: Record + Into<HookEvent>>(&self, build: impl FnMut() -> E) -> bool {
        let mut goes_on = true;
        let requests = self.call_each(build, |answer: CancelAnswer| {
            goes_on = answer.cancel != Some(true);
            goes_on
        });
        self.pre_hooks.unless_cancelled(requests).await.is_some() && goes_on
    }

    /// Runs the input hooks. The input is from the user, or from an extension in the name of the user.
    pub async fn input(
        &self,
        text: String,
        images: Vec<ImageContent>,
        source: InputSource,
    ) -> InputHookResult {
        self.pre_hooks
            .unless_cancelled(self.run_input_hooks(text, images, source))
            .await
            .unwrap_or(InputHookResult::Cancelled)
    }

    async fn run_input_hooks(
        &self,
        mut text: String,
        mut images: Vec<ImageContent>,
        source: InputSource,
    ) -> InputHookResult {
        for member in self.subscribers(type_of::<InputHook>()) {
            let mut event = InputHook::new(&text, source.clone());
            event.images = Some(images.clone()).filter(|images| !images.is_empty());
            let Ok(Some(answer)) = self.answer::<InputAnswer>(&member, event.into()).await else { continue };
            match answer.action {
                InputAction::Handled => return InputHookResult::Handled,
                InputAction::Refuse => {
                    return InputHookResult::Rejected(
                        answer.text.unwrap_or_else(|| "an extension rejected it".to_owned()),
                    );
                }
                InputAction::Transform => {
                    text = answer.text.unwrap_or(text);
                    images = answer.images.unwrap_or(images);
                }
                InputAction::Continue => {}
            }
        }
        InputHookResult::Input(text, images)
    }

    /// Reports a session switch to extensions as the end of the old session and the start of the new one.
    async fn report_session_switch(&self, reason: SessionReason, previous: Option<&Path>) {
        self.notify_all(|| self.shutdown_event(reason.clone())).await;
        let build = || {
            let mut event = SessionStartHook::new();
            event.reason = Some(reason.clone());
            event.previous_session_file = previous.map(path);
            event
        };
        self.notify_all(build).await;
    }

    /// Returns the reason for blocking a tool call. Returns `None` if the call is allowed.
    async fn block_reason(&self, call: &ToolCall) -> Option<String> {
        if let Some(reason) = self.unguarded_reason().await {
            return Some(reason);
        }
        for member in self.subscribers(type_of::<ToolCallHook>()) {
            let event = ToolCallHook::new(&call.id, &call.name, call.arguments.clone());
            match self.answer::<ToolCallAnswer>(&member, event.into()).await {
                Ok(Some(answer)) if answer.block == Some(true) => {
                    return Some(answer.reason.unwrap_or_else(|| format!("Blocked by {}", member.path)));
                }
                Ok(_) => {}
                Err(CallError::Extension(error)) => return Some(error),
                // Without an answer the call is not permitted.
                Err(CallError::TimedOut(_) | CallError::Disconnected) => {
                    return Some(format!("Blocked: {} sent no decision about this call", member.path));
                }
            }
        }
        None
    }
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn reason(switch: SessionSwitch<'_>) -> SwitchReason {
    match switch {
        SessionSwitch::New => SwitchReason::New,
        SessionSwitch::Resume(_) => SwitchReason::Resume,
    }
}

impl Hooks for Host {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        self.all_tools(own)
    }

    fn before_switch<'a>(&'a self, switch: SessionSwitch<'a>) -> BoxFuture<'a, bool> {
        let build = move || {
            let mut event = SessionBeforeSwitchHook::new(reason(switch));
            if let SessionSwitch::Resume(file) = switch {
                event.target_session_file = Some(path(file));
            }
            event
        };
        self.is_allowed(build).boxed()
    }

    fn switched<'a>(&'a self, switch: SessionSwitch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        self.cancel_pending();
        self.end_dialogs();
        if self.restarts_sessions() {
            let reason = match switch {
                SessionSwitch::New => SessionReason::New,
                SessionSwitch::Resume(_) => SessionReason::Resume,
            };
            return self.report_session_switch(reason, previous).boxed();
        }
        let build = move || {
            let mut event = SessionSwitchHook::new(reason(switch));
            event.previous_session_file = previous.map(path);
            event
        };
        self.notify_all(build).boxed()
    }

    fn before_fork<'a>(&'a self, entry: &'a str) -> BoxFuture<'a, bool> {
        self.is_allowed(move || SessionBeforeForkHook::new(entry)).boxed()
    }

    fn forked<'a>(&'a self, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        self.cancel_pending();
        self.end_dialogs();
        if self.restarts_sessions() {
            return self.report_session_switch(SessionReason::Fork, previous).boxed();
        }
        let build = move || {
            let mut event = SessionForkHook::new();
            event.previous_session_file = previous.map(path);
            event
        };
        self.notify_all(build).boxed()
    }

    fn handles_compaction(&self) -> bool {
        self.has_subscriber(type_of::<SessionBeforeCompactHook>())
            || self.has_subscriber(type_of::<SessionCompactHook>())
    }

    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, CompactionDecision> {
        async move {
            let mut decision = CompactionDecision::Proceed;
            let build = || {
                let entries = entries.iter().cloned().map(object).collect();
                let mut event = SessionBeforeCompactHook::new(plan.clone(), entries);
                event.custom_instructions = focus.map(str::to_owned);
                event
            };
            let requests = self.call_each(build, |answer: BeforeCompactAnswer| {
                if answer.cancel == Some(true) {
                    decision = CompactionDecision::Cancelled;
                } else if let Some(supplied) = answer.compaction {
                    decision = CompactionDecision::Supplied(Box::new(supplied));
                }
                !matches!(decision, CompactionDecision::Cancelled)
            });
            let result = self.pre_hooks.unless_cancelled(requests).await;
            result.map_or(CompactionDecision::Cancelled, |()| decision)
        }
        .boxed()
    }

    fn compacted<'a>(&'a self, entry: Value, from_extension: bool) -> BoxFuture<'a, ()> {
        let build = move || SessionCompactHook::new(object(entry.clone()), from_extension);
        self.notify_all(build).boxed()
    }

    fn before_run<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        system_prompt: &'a str,
    ) -> BoxFuture<'a, RunAdditions> {
        async move {
            let mut additions = RunAdditions::default();
            for member in self.subscribers(type_of::<BeforeAgentStartHook>()) {
                let prompt = additions.system_prompt.as_deref().unwrap_or(system_prompt);
                let mut event = BeforeAgentStartHook::new(text, prompt);
                event.images = Some(images.to_vec()).filter(|images| !images.is_empty());
                let answer = self.answer::<BeforeAgentStartAnswer>(&member, event.into()).await;
                let Ok(Some(answer)) = answer else { continue };
                additions.messages.extend(answer.message.map(|message| {
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
                additions.system_prompt = answer.system_prompt.or(additions.system_prompt);
            }
            additions
        }
        .boxed()
    }

    fn handles_context(&self) -> bool {
        self.has_subscriber(type_of::<ContextHook>())
    }

    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        async move {
            let mut messages = messages;
            for member in self.subscribers(type_of::<ContextHook>()) {
                let copies = messages.iter().map(|message| AgentMessage::clone(message)).collect();
                let answer = self.answer::<ContextAnswer>(&member, ContextHook::new(copies).into()).await;
                if let Ok(Some(ContextAnswer { messages: Some(replaced), .. })) = answer {
                    messages = replaced.into_iter().map(Arc::new).collect();
                }
            }
            messages
        }
        .boxed()
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        self.block_reason(call).map(|reason| reason.map_or(Ok(()), Err)).boxed()
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: ToolOutput) -> BoxFuture<'a, ToolOutput> {
        async move {
            let mut output = output;
            for member in self.subscribers(type_of::<ToolResultHook>()) {
                let content = content_blocks(&output.content);
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

    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: SelectionReason) {
        let source = match selection {
            SelectionReason::Set => ModelSource::Set,
            SelectionReason::Cycled => ModelSource::Cycle,
            SelectionReason::Restored => ModelSource::Restore,
        };
        for member in self.subscribers(type_of::<ModelSelectHook>()) {
            // The handler sees the new model in the agent's state.
            self.refresh(&member.process);
            let event = ModelSelectHook::new(model.clone(), previous.cloned(), source.clone());
            self.notify(&member, event.into());
        }
    }
}
