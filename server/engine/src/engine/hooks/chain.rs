//! The chain of hooks of an engine.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionPlan, ImageContent, Model, StreamRule, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::config::Settings;
use crate::engine::{CompactionDecision, Hooks, PostRunPolicy, RunAdditions, SelectionReason, SessionSwitch};
use crate::providers::Update;
use crate::resources::Resources;
use crate::session::Session;
use crate::tools::{ToolOutput, ToolSet};

/// Hooks in call order: extensions, rules, approvals. Each hook receives the output of the previous one. The first
/// rejection is final.
#[derive(Clone, Default)]
pub struct HookChain(Vec<Arc<dyn Hooks>>);

impl HookChain {
    /// Adds hooks after all others.
    pub fn push(&mut self, hooks: Arc<dyn Hooks>) {
        self.0.push(hooks);
    }

    /// Adds hooks before all others.
    pub fn push_front(&mut self, hooks: Arc<dyn Hooks>) {
        self.0.insert(0, hooks);
    }
}

impl HookChain {
    /// Returns the hooks for a subagent of the engine. Adds the policies of these hooks for the subagent's
    /// runs to `policies`.
    pub(in crate::engine) fn of_child(&self, policies: &mut Vec<Arc<dyn PostRunPolicy>>) -> Self {
        let own = |hooks: &Arc<dyn Hooks>| hooks.for_child(policies).unwrap_or_else(|| hooks.clone());
        Self(self.0.iter().map(own).collect())
    }
}

impl Hooks for HookChain {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        self.0.iter().fold(own.clone(), |tools, hooks| hooks.tools(&tools))
    }

    fn before_switch<'a>(&'a self, switch: SessionSwitch<'a>) -> BoxFuture<'a, bool> {
        async move {
            for hooks in &self.0 {
                if !hooks.before_switch(switch).await {
                    return false;
                }
            }
            true
        }
        .boxed()
    }

    fn switched<'a>(&'a self, switch: SessionSwitch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        async move {
            for hooks in &self.0 {
                hooks.switched(switch, previous).await;
            }
        }
        .boxed()
    }

    fn before_fork<'a>(&'a self, entry: &'a str) -> BoxFuture<'a, bool> {
        async move {
            for hooks in &self.0 {
                if !hooks.before_fork(entry).await {
                    return false;
                }
            }
            true
        }
        .boxed()
    }

    fn forked<'a>(&'a self, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        async move {
            for hooks in &self.0 {
                hooks.forked(previous).await;
            }
        }
        .boxed()
    }

    fn handles_compaction(&self) -> bool {
        self.0.iter().any(|hooks| hooks.handles_compaction())
    }

    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, CompactionDecision> {
        async move {
            for hooks in self.0.iter().filter(|hooks| hooks.handles_compaction()) {
                match hooks.before_compact(plan.clone(), entries.clone(), focus).await {
                    CompactionDecision::Proceed => {}
                    decision => return decision,
                }
            }
            CompactionDecision::Proceed
        }
        .boxed()
    }

    fn compacted<'a>(&'a self, entry: Value, given: bool) -> BoxFuture<'a, ()> {
        async move {
            for hooks in self.0.iter().filter(|hooks| hooks.handles_compaction()) {
                hooks.compacted(entry.clone(), given).await;
            }
        }
        .boxed()
    }

    fn before_run<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        system_prompt: &'a str,
    ) -> BoxFuture<'a, RunAdditions> {
        async move {
            let mut all = RunAdditions::default();
            for hooks in &self.0 {
                let prompt = all.system_prompt.as_deref().unwrap_or(system_prompt);
                let additions = hooks.before_run(text, images, prompt).await;
                all.messages.extend(additions.messages);
                all.system_prompt = additions.system_prompt.or(all.system_prompt.take());
            }
            all
        }
        .boxed()
    }

    fn handles_context(&self) -> bool {
        self.0.iter().any(|hooks| hooks.handles_context())
    }

    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        async move {
            let mut messages = messages;
            for hooks in self.0.iter().filter(|hooks| hooks.handles_context()) {
                messages = hooks.context(messages).await;
            }
            messages
        }
        .boxed()
    }

    fn turn_started(&self, session: &Session, first: bool) {
        for hooks in &self.0 {
            hooks.turn_started(session, first);
        }
    }

    fn should_stop(&self, message: &AssistantMessage, update: &Update) -> Option<Vec<StreamRule>> {
        // Every hook receives every update, because a watcher of a stream needs all of its pieces.
        let mut matched: Option<Vec<StreamRule>> = None;
        for rules in self.0.iter().filter_map(|hooks| hooks.should_stop(message, update)) {
            matched.get_or_insert_default().extend(rules);
        }
        matched
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        async move {
            for hooks in &self.0 {
                hooks.tool_call(call).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: ToolOutput) -> BoxFuture<'a, ToolOutput> {
        async move {
            let mut output = output;
            for hooks in &self.0 {
                output = hooks.tool_result(call, output).await;
            }
            output
        }
        .boxed()
    }

    fn trusted(&self, settings: &Settings, resources: &Resources) {
        for hooks in &self.0 {
            hooks.trusted(settings, resources);
        }
    }

    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: SelectionReason) {
        for hooks in &self.0 {
            hooks.model_selected(model, previous, selection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::Map;

    use super::*;

    /// A hook that records its name for each call, and rejects the call if the flag is set.
    struct RecordingHook(&'static str, bool, Arc<Mutex<Vec<&'static str>>>);

    impl Hooks for RecordingHook {
        fn tool_call<'a>(&'a self, _: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
            self.2.lock().unwrap().push(self.0);
            let result = if self.1 { Err(self.0.to_owned()) } else { Ok(()) };
            futures::future::ready(result).boxed()
        }

        fn before_run<'a>(
            &'a self,
            _: &'a str,
            _: &'a [ImageContent],
            prompt: &'a str,
        ) -> BoxFuture<'a, RunAdditions> {
            let system_prompt = Some(format!("{prompt}{}", self.0));
            futures::future::ready(RunAdditions { messages: Vec::new(), system_prompt }).boxed()
        }
    }

    #[tokio::test]
    async fn hooks_run_in_order_and_the_first_rejection_wins() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let mut chain = HookChain::default();
        chain.push(Arc::new(RecordingHook("b", true, calls.clone())));
        chain.push(Arc::new(RecordingHook("c", false, calls.clone())));
        chain.push_front(Arc::new(RecordingHook("a", false, calls.clone())));
        let call = ToolCall::new("1", "bash", Map::new());
        assert_eq!(chain.tool_call(&call).await, Err("b".to_owned()));
        assert_eq!(*calls.lock().unwrap(), ["a", "b"]);
        assert_eq!(chain.before_run("", &[], ">").await.system_prompt.as_deref(), Some(">abc"));
        assert_eq!(HookChain::default().tool_call(&call).await, Ok(()));
    }
}
