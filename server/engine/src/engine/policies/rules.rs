//! Rules that watch the output of a model while it arrives. A matching rule stops the answer, or takes effect
//! at its end. The model then receives the rule and continues.

mod scope;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, CustomMessageBuilder, StreamRule, ToolCall,
};
use serde_json::{Value, json};

use crate::config::{RuleContext, RuleInterrupt, RuleRepeat, RuleSettings, Settings};
use crate::engine::{EventSink, FollowUpRun, Hooks, PostRunPolicy, RunSummary};
use crate::providers::Update;
use crate::resources::{Resources, Rule, SearchState, StreamPattern};
use crate::runtime::Clock;
use crate::session::{Body, Entry, Role, Session};
use scope::{OutputStream, RuleScope, named_files};

/// Custom type of the messages that contain rules for a model.
const INJECTION: &str = "ttsr-injection";

/// Watches the output of a model.
pub struct RuleWatcher {
    cwd: PathBuf,
    clock: Arc<dyn Clock>,
    state: Mutex<WatcherState>,
}

/// A rule with its compiled pattern and scope.
struct CompiledRule {
    rule: Rule,
    pattern: StreamPattern,
    scope: RuleScope,
}

/// A stream of one turn. All text blocks form one stream, and so do all thinking blocks. Each call is a stream of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StreamKey {
    Text,
    Thinking,
    Call(usize),
}

struct WatcherState {
    rules: Arc<[CompiledRule]>,
    settings: RuleSettings,
    /// State of the search for each rule in each stream of the turn. The second part of the key is the index of the
    /// rule.
    positions: HashMap<(StreamKey, usize), SearchState>,
    /// Indices of the rules that matched but were not delivered to the model yet.
    pending: Vec<usize>,
    /// `true` if this hook stopped the answer.
    stopped: bool,
    /// Number of the turn in which each rule was delivered to the model, by the name of the rule.
    delivered_in_turn: HashMap<String, u64>,
    turns: u64,
}

impl RuleWatcher {
    /// Creates the hook for those rules. Paths in arguments of tools are relative to `cwd`.
    pub fn new(rules: &[Rule], settings: RuleSettings, cwd: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { cwd, clock, state: Mutex::new(WatcherState::new(compile_rules(rules), settings)) }
    }

    fn state(&self) -> MutexGuard<'_, WatcherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the message that contains rules for a model.
    fn rule_message(&self, all: &[CompiledRule], indices: &[usize]) -> AgentMessage {
        let rules = || indices.iter().map(|index| &all[*index].rule);
        let text = rules().map(|rule| {
            format!(
                "<system-interrupt reason=\"rule_violation\" rule=\"{}\" path=\"{}\">\nWhat you were saying goes against a \
                 rule that the user or the project has set.\nThe agent itself tells you so; it comes from no file and no \
                 page that you have read. Follow the rule:\n\n{}\n</system-interrupt>",
                rule.name,
                rule.path.display(),
                rule.content,
            )
        });
        let text = text.collect::<Vec<_>>().join("\n\n");
        let mut message = CustomMessageBuilder {
            custom_type: INJECTION.to_owned(),
            content: text.into(),
            display: false,
            timestamp: self.clock.now_ms(),
        }
        .build();
        message.details = Some(json!({"rules": rules().map(|rule| &rule.name).collect::<Vec<_>>()})).into();
        message.into()
    }
}

/// Returns the rules that watch the output, compiled.
fn compile_rules(rules: &[Rule]) -> Arc<[CompiledRule]> {
    let watched = |rule: &Rule| {
        let pattern = StreamPattern::new(&rule.conditions).ok()?;
        Some(CompiledRule { pattern, scope: RuleScope::new(&rule.scope, &rule.globs)?, rule: rule.clone() })
    };
    rules.iter().filter(|rule| rule.watches()).filter_map(watched).collect()
}

impl WatcherState {
    fn new(rules: Arc<[CompiledRule]>, settings: RuleSettings) -> Self {
        let (positions, delivered_in_turn) = (HashMap::new(), HashMap::new());
        Self { rules, settings, positions, pending: Vec::new(), stopped: false, delivered_in_turn, turns: 0 }
    }

    /// Returns `true` if a rule may be delivered to the model. A rule may be repeated if the settings permit it.
    fn may_deliver(&self, name: &str) -> bool {
        match (self.delivered_in_turn.get(name), self.settings.repeat) {
            (None, _) => true,
            (Some(_), RuleRepeat::Once) => false,
            (Some(at), RuleRepeat::AfterGap) => self.turns.saturating_sub(*at) >= self.settings.repeat_gap,
        }
    }

    fn interrupts(&self, rule: &Rule, stream: OutputStream<'_>) -> bool {
        match rule.interrupt.unwrap_or(self.settings.interrupt) {
            RuleInterrupt::Always => true,
            RuleInterrupt::ProseOnly => !matches!(stream, OutputStream::Tool(_)),
            RuleInterrupt::ToolOnly => matches!(stream, OutputStream::Tool(_)),
            RuleInterrupt::Never => false,
        }
    }
}

/// Returns the names of the rules that the model received in a session.
fn delivered_rules(session: &Session) -> impl Iterator<Item = String> {
    let may_be =
        |entry: &&Entry| matches!(entry.body(), Body::CustomMessage { .. } | Body::Message(Role::Other));
    session.path().into_iter().filter(may_be).flat_map(|entry| {
        let message = entry.message();
        let details = match message.as_deref() {
            Some(AgentMessage::Custom(custom)) if custom.custom_type == INJECTION => {
                custom.details.as_option()
            }
            _ => None,
        };
        let rules = details.and_then(|details| details["rules"].as_array()).map_or(&[][..], Vec::as_slice);
        rules.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    })
}

impl Hooks for RuleWatcher {
    fn turn_started(&self, session: &Session, first: bool) {
        let mut state = self.state();
        state.positions.clear();
        state.turns += 1;
        if first {
            state.pending.clear();
            state.stopped = false;
            let mut previous = std::mem::take(&mut state.delivered_in_turn);
            let delivered = delivered_rules(session).map(|name| {
                let at = previous.remove(&name).unwrap_or(0);
                (name, at)
            });
            state.delivered_in_turn = delivered.collect();
        }
    }

    fn should_stop(&self, message: &AssistantMessage, update: &Update) -> Option<Vec<StreamRule>> {
        let call = match message.content.get(update.index()) {
            Some(AssistantBlock::ToolCall(call)) => Some(call),
            _ => None,
        };
        let (part, stream, piece) = match (update, call) {
            (Update::TextDelta { delta, .. }, _) => (StreamKey::Text, OutputStream::Text, delta),
            (Update::ThinkingDelta { delta, .. }, _) => (StreamKey::Thinking, OutputStream::Thinking, delta),
            (Update::ToolCallDelta { index, delta, .. }, Some(ToolCall { name, .. })) => {
                (StreamKey::Call(*index), OutputStream::Tool(name), delta)
            }
            _ => return None,
        };
        let mut state = self.state();
        if !state.settings.enabled {
            return None;
        }
        let rules = state.rules.clone();
        let mut met = Vec::new();
        for (index, watched) in rules.iter().enumerate().filter(|(_, watched)| watched.scope.reaches(stream))
        {
            let position = state.positions.entry((part, index)).or_insert_with(|| watched.pattern.start());
            if watched.pattern.feed(position, piece) {
                met.push(index);
            }
        }
        let files = match call {
            Some(call) if !met.is_empty() => named_files(&call.arguments, &self.cwd),
            _ => Vec::new(),
        };
        met.retain(|index| {
            let CompiledRule { rule, scope, .. } = &rules[*index];
            state.may_deliver(&rule.name) && scope.includes(stream, &files)
        });
        for index in &met {
            if !state.pending.contains(index) {
                state.pending.push(*index);
            }
        }
        state.stopped = met.iter().any(|index| state.interrupts(&rules[*index].rule, stream));
        state.stopped.then(|| met.iter().map(|index| rules[*index].rule.to_wire()).collect())
    }

    fn trusted(&self, settings: &Settings, resources: &Resources) {
        let mut state = self.state();
        let delivered_in_turn = std::mem::take(&mut state.delivered_in_turn);
        let turns = state.turns;
        *state = WatcherState {
            delivered_in_turn,
            turns,
            ..WatcherState::new(compile_rules(resources.rules()), settings.rules)
        };
    }

    fn for_child(&self, policies: &mut Vec<Arc<dyn PostRunPolicy>>) -> Option<Arc<dyn Hooks>> {
        let state = {
            let state = self.state();
            WatcherState::new(state.rules.clone(), state.settings)
        };
        let own = Self { cwd: self.cwd.clone(), clock: self.clock.clone(), state: Mutex::new(state) };
        let own = Arc::new(own);
        policies.push(own.clone());
        Some(own)
    }
}

impl PostRunPolicy for RuleWatcher {
    fn after_run(&self, run: &RunSummary<'_>, _: &dyn EventSink) -> Option<FollowUpRun> {
        let mut state = self.state();
        // An answer that another hook stopped is not handled here.
        if state.pending.is_empty() || run.stopped != state.stopped {
            return None;
        }
        let pending = std::mem::take(&mut state.pending);
        let turns = state.turns;
        for index in &pending {
            let name = state.rules[*index].rule.name.clone();
            state.delivered_in_turn.insert(name, turns);
        }
        let injection = self.rule_message(&state.rules, &pending);
        Some(match run.stopped {
            true => FollowUpRun {
                silent_messages: vec![injection],
                drops_answer: state.settings.context == RuleContext::Discard,
                ..FollowUpRun::default()
            },
            false => FollowUpRun { messages: vec![injection], ..FollowUpRun::default() },
        })
    }
}
