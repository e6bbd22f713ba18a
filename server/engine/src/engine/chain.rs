//! The chain of hooks of an engine.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionPlan, ImageContent, Model, StreamRule, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{Afterwards, Compacting, Hooks, Opening, Selection, Switch};
use crate::config::Settings;
use crate::providers::Update;
use crate::resources::Resources;
use crate::session::Session;
use crate::tools::{ToolOutput, ToolSet};

/// Hooks in call order: extensions, rules, approvals. Each hook receives the output of the previous one. The first
/// rejection is final.
#[derive(Clone, Default)]
pub struct Chain(Vec<Arc<dyn Hooks>>);

impl Chain {
    /// Adds hooks after all others.
    pub fn push(&mut self, hooks: Arc<dyn Hooks>) {
        self.0.push(hooks);
    }

    /// Adds hooks before all others.
    pub fn push_front(&mut self, hooks: Arc<dyn Hooks>) {
        self.0.insert(0, hooks);
    }
}

impl Chain {
    /// Returns the hooks for a child of the engine, and adds their policies for the child's runs to `afterwards`.
    pub(super) fn of_child(&self, afterwards: &mut Vec<Arc<dyn Afterwards>>) -> Self {
        let own = |hooks: &Arc<dyn Hooks>| hooks.for_child(afterwards).unwrap_or_else(|| hooks.clone());
        Self(self.0.iter().map(own).collect())
    }
}

impl Hooks for Chain {
    fn tools(&self, own: &ToolSet) -> ToolSet {
        self.0.iter().fold(own.clone(), |tools, hooks| hooks.tools(&tools))
    }

    fn before_switch<'a>(&'a self, switch: Switch<'a>) -> BoxFuture<'a, bool> {
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

    fn switched<'a>(&'a self, switch: Switch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
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

    fn minds_compaction(&self) -> bool {
        self.0.iter().any(|hooks| hooks.minds_compaction())
    }

    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, Compacting> {
        async move {
            for hooks in self.0.iter().filter(|hooks| hooks.minds_compaction()) {
                match hooks.before_compact(plan.clone(), entries.clone(), focus).await {
                    Compacting::Usual => {}
                    said => return said,
                }
            }
            Compacting::Usual
        }
        .boxed()
    }

    fn compacted<'a>(&'a self, entry: Value, given: bool) -> BoxFuture<'a, ()> {
        async move {
            for hooks in self.0.iter().filter(|hooks| hooks.minds_compaction()) {
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
    ) -> BoxFuture<'a, Opening> {
        async move {
            let mut all = Opening::default();
            for hooks in &self.0 {
                let prompt = all.system_prompt.as_deref().unwrap_or(system_prompt);
                let opening = hooks.before_run(text, images, prompt).await;
                all.messages.extend(opening.messages);
                all.system_prompt = opening.system_prompt.or(all.system_prompt.take());
            }
            all
        }
        .boxed()
    }

    fn minds_context(&self) -> bool {
        self.0.iter().any(|hooks| hooks.minds_context())
    }

    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        async move {
            let mut messages = messages;
            for hooks in self.0.iter().filter(|hooks| hooks.minds_context()) {
                messages = hooks.context(messages).await;
            }
            messages
        }
        .boxed()
    }

    fn turn_begins(&self, session: &Session, first: bool) {
        for hooks in &self.0 {
            hooks.turn_begins(session, first);
        }
    }

    fn stops(&self, message: &AssistantMessage, update: &Update) -> Option<Vec<StreamRule>> {
        // Every hook receives every update, because a watcher of a stream needs all of its pieces.
        let mut stops: Option<Vec<StreamRule>> = None;
        for rules in self.0.iter().filter_map(|hooks| hooks.stops(message, update)) {
            stops.get_or_insert_default().extend(rules);
        }
        stops
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

    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: Selection) {
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

    /// Records its name, and rejects if the flag is set.
    struct Named(&'static str, bool, Arc<Mutex<Vec<&'static str>>>);

    impl Hooks for Named {
        fn tool_call<'a>(&'a self, _: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
            self.2.lock().unwrap().push(self.0);
            let said = if self.1 { Err(self.0.to_owned()) } else { Ok(()) };
            futures::future::ready(said).boxed()
        }

        fn before_run<'a>(
            &'a self,
            _: &'a str,
            _: &'a [ImageContent],
            prompt: &'a str,
        ) -> BoxFuture<'a, Opening> {
            let system_prompt = Some(format!("{prompt}{}", self.0));
            futures::future::ready(Opening { messages: Vec::new(), system_prompt }).boxed()
        }
    }

    #[tokio::test]
    async fn they_are_asked_in_order_and_the_first_refusal_counts() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let mut chain = Chain::default();
        chain.push(Arc::new(Named("b", true, said.clone())));
        chain.push(Arc::new(Named("c", false, said.clone())));
        chain.push_front(Arc::new(Named("a", false, said.clone())));
        let call = ToolCall::new("1", "bash", Map::new());
        assert_eq!(chain.tool_call(&call).await, Err("b".to_owned()));
        assert_eq!(*said.lock().unwrap(), ["a", "b"]);
        assert_eq!(chain.before_run("", &[], ">").await.system_prompt.as_deref(), Some(">abc"));
        assert_eq!(Chain::default().tool_call(&call).await, Ok(()));
    }
}
