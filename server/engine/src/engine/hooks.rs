//! Where others may look into what the engine does, and change it. The engine knows this trait and
//! nothing of who implements it; those who do stand in a [`super::Chain`].

use std::path::Path;
use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantMessage, CompactionPlan, CompactionResult, CustomMessage, ImageContent, Model,
    StreamRule, ToolCall,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::Afterwards;
use crate::config::Settings;
use crate::providers::Update;
use crate::resources::Resources;
use crate::session::Session;
use crate::tools::{ToolOutput, ToolSet};

/// Why another session takes the place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch<'a> {
    /// A fresh one was asked for.
    New,
    /// The one of that file was asked for.
    Resume(&'a Path),
}

/// What is added to a run before it begins.
#[derive(Debug, Default)]
pub struct Opening {
    /// Messages that follow the user's.
    pub messages: Vec<CustomMessage>,
    /// Takes the place of the system prompt.
    pub system_prompt: Option<String>,
}

/// Whether a conversation is compacted, and by whom.
#[derive(Debug, Default)]
pub enum Compacting {
    /// The model is asked.
    #[default]
    Usual,
    /// Not at all.
    Cancelled,
    /// With this summary.
    Given(Box<CompactionResult>),
}

/// How a model came into use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// By name.
    Set,
    /// As the next in line.
    Cycled,
    /// With the session that was opened.
    Restored,
}

/// Looks into what the engine does. Every method has a default that changes nothing. Those that give a
/// future may take their time; dropping it means that nobody waits any more.
pub trait Hooks: Send + Sync {
    /// The tools, made from those of the options.
    fn tools(&self, own: &ToolSet) -> ToolSet {
        own.clone()
    }

    /// Whether another session may take the place of this one.
    fn before_switch<'a>(&'a self, switch: Switch<'a>) -> BoxFuture<'a, bool> {
        let _ = switch;
        futures::future::ready(true).boxed()
    }

    /// Another session has taken the place of the one with that file.
    fn switched<'a>(&'a self, switch: Switch<'a>, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        let _ = (switch, previous);
        futures::future::ready(()).boxed()
    }

    /// Whether a fork may be made from that entry.
    fn before_fork<'a>(&'a self, entry: &'a str) -> BoxFuture<'a, bool> {
        let _ = entry;
        futures::future::ready(true).boxed()
    }

    /// A fork was made; the session before had that file.
    fn forked<'a>(&'a self, previous: Option<&'a Path>) -> BoxFuture<'a, ()> {
        let _ = previous;
        futures::future::ready(()).boxed()
    }

    /// Whether somebody wants to hear of compactions: if not, what they are told is not built.
    fn minds_compaction(&self) -> bool {
        false
    }

    /// Whether the conversation is compacted, and by whom. `entries` are those of the active branch.
    fn before_compact<'a>(
        &'a self,
        plan: CompactionPlan,
        entries: Vec<Value>,
        focus: Option<&'a str>,
    ) -> BoxFuture<'a, Compacting> {
        let _ = (plan, entries, focus);
        futures::future::ready(Compacting::Usual).boxed()
    }

    /// The conversation was compacted, as that entry says.
    fn compacted<'a>(&'a self, entry: Value, given: bool) -> BoxFuture<'a, ()> {
        let _ = (entry, given);
        futures::future::ready(()).boxed()
    }

    /// What is added to a run that begins with these words of the user.
    fn before_run<'a>(
        &'a self,
        text: &'a str,
        images: &'a [ImageContent],
        system_prompt: &'a str,
    ) -> BoxFuture<'a, Opening> {
        let _ = (text, images, system_prompt);
        futures::future::ready(Opening::default()).boxed()
    }

    /// Whether somebody wants to see what the model gets to see.
    fn minds_context(&self) -> bool {
        false
    }

    /// What the model gets to see in place of these messages.
    fn context<'a>(&'a self, messages: Vec<Arc<AgentMessage>>) -> BoxFuture<'a, Vec<Arc<AgentMessage>>> {
        futures::future::ready(messages).boxed()
    }

    /// A turn begins in that session, the first one of a run or another. Must not block, and must not call the engine.
    fn turn_begins(&self, session: &Session, first: bool) {
        let _ = (session, first);
    }

    /// Whether an answer is to be stopped where it is now, and the rules that it ran into, of which the client is told.
    /// It ends as aborted, and the run with it; what follows says [`super::Afterwards`]. `message` is all of it so far,
    /// `update` what is new. Must not block.
    fn stops(&self, message: &AssistantMessage, update: &Update) -> Option<Vec<StreamRule>> {
        let _ = (message, update);
        None
    }

    /// Whether a call may be executed; if not, what the model is told instead.
    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        let _ = call;
        futures::future::ready(Ok(())).boxed()
    }

    /// What takes the place of a call's output.
    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: ToolOutput) -> BoxFuture<'a, ToolOutput> {
        let _ = call;
        futures::future::ready(output).boxed()
    }

    /// The working directory is trusted from now on, and these settings and resources count. Must not block.
    fn trusted(&self, settings: &Settings, resources: &Resources) {
        let _ = (settings, resources);
    }

    /// What looks into a child of the engine in this one's place, with what it wants to follow the child's runs; none
    /// where this one itself does, which may be asked by several engines at once then. Must not block.
    fn for_child(&self, afterwards: &mut Vec<Arc<dyn Afterwards>>) -> Option<Arc<dyn Hooks>> {
        let _ = afterwards;
        None
    }

    /// Another model is in use. Must not block. The engine can be looked at.
    fn model_selected(&self, model: &Model, previous: Option<&Model>, selection: Selection) {
        let _ = (model, previous, selection);
    }
}
