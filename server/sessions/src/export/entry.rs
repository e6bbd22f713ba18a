//! Rendering of one entry of a session.

use maud::{Markup, html};
use serde_json::Value;

use super::content::{content, folded_json, unknown};
use super::entries::RedactedEntries;
use super::fields::{flag, list, message, optional_text, role, text};
use super::format::{Moment, cost, count, counted, short_count};
use super::highlight::Highlighter;
use super::kind::Kind;
use super::markdown::{self, LineEnds, markdown};
use super::results::Results;
use super::stats::TokenUsage;
use super::title::{non_empty_or, setting_text};
use super::tool;
use super::tree::Tree;

/// Renders entries with the data that all of them share.
pub(super) struct EntryRenderer<'a> {
    pub entries: &'a RedactedEntries<'a>,
    pub tree: &'a Tree,
    pub results: &'a Results,
    pub highlighter: &'a Highlighter,
}

impl EntryRenderer<'_> {
    /// Renders an entry of the conversation. Renders nothing for a tool result that is shown with its call. `above` is
    /// the kind of the entry above it.
    pub fn entry(&self, at: usize, above: Option<Kind>) -> Markup {
        if self.results.has_call(at) {
            return html! {};
        }
        let kind = self.tree.nodes[at].kind;
        let entry = &*self.entries.entry(at);
        let frame = EntryView { at, entry, tree: self.tree };
        if kind == Kind::Setting {
            return self.setting(&frame);
        }
        let goes_on = matches!(kind, Kind::Assistant | Kind::Step)
            && matches!(above, Some(Kind::Assistant | Kind::Step | Kind::Tool));
        html! {
            article.entry.{ (kind.name()) }.goes-on[goes_on].labelled[frame.label().is_some()] id=(frame.anchor()) {
                (frame.meta(&speaker(entry), goes_on))
                div.body dir="auto" { (self.body(at, entry)) }
            }
        }
    }

    fn body(&self, at: usize, entry: &Value) -> Markup {
        let highlighter = self.highlighter;
        let Some(message) = message(entry) else {
            return match text(entry, "type") {
                "compaction" => compaction(entry, highlighter),
                "branch_summary" => summary("Summary of the branch that was left", entry, highlighter),
                "custom_message" => custom(entry, highlighter),
                _ => folded_json("Entry without a message", entry, highlighter),
            };
        };
        match text(message, "role") {
            "user" => content(message, LineEnds::Kept, highlighter),
            "assistant" => self.answer(at, message),
            "toolResult" => tool::orphan(message, highlighter),
            "bashExecution" => tool::bash_execution(message, highlighter),
            "custom" | "hookMessage" => custom(message, highlighter),
            "compactionSummary" => compaction(message, highlighter),
            "branchSummary" => summary("Summary of the branch that was left", message, highlighter),
            "system" => {
                html! { details.more { summary { "System message" } (content(message, LineEnds::Kept, highlighter)) } }
            }
            role => folded_json(&format!("Message of role {role}"), message, highlighter),
        }
    }

    fn answer(&self, at: usize, message: &Value) -> Markup {
        let highlighter = self.highlighter;
        html! {
            @if let Some(text) = optional_text(message, "content") { (markdown(text, LineEnds::Spaces, highlighter)) }
            @for (index, block) in list(message, "content").iter().enumerate() {
                @match text(block, "type") {
                    "text" => (markdown(text(block, "text"), LineEnds::Spaces, highlighter)),
                    "thinking" => (thinking(block, highlighter)),
                    "toolCall" => {
                        @let result = self.results.result(at, index);
                        @let result = result.map(|at| tool::CallResult { anchor: self.tree.anchor(at), entry: self.entries.entry(at) });
                        (tool::call(block, result.as_ref(), highlighter))
                    },
                    _ => (unknown(block, highlighter)),
                }
            }
            (ending(message))
        }
    }

    /// Renders a setting as one line of small text.
    fn setting(&self, frame: &EntryView) -> Markup {
        let entry = frame.entry;
        let target = self.tree.find(text(entry, "targetId")).map(|target| self.tree.anchor(target));
        html! {
            div.entry.setting id=(frame.anchor()) {
                (frame.meta("", true))
                div.body {
                    @match (text(entry, "type"), data(entry)) {
                        (_, Some(data)) => (folded_json(&setting_text(entry), data, self.highlighter)),
                        ("label", _) => {
                            (setting_text(entry)) " "
                            @if let Some(target) = target { a href={ "#" (target) } { "here" } }
                        },
                        _ => (setting_text(entry)),
                    }
                }
            }
        }
    }
}

/// An entry with its index and the tree.
struct EntryView<'a> {
    at: usize,
    entry: &'a Value,
    tree: &'a Tree,
}

impl EntryView<'_> {
    fn anchor(&self) -> String {
        self.tree.anchor(self.at)
    }

    fn label(&self) -> Option<&str> {
        self.tree.label(self.at)
    }

    /// Renders the line with speaker, time and usage.
    fn meta(&self, speaker: &str, speaker_is_known: bool) -> Markup {
        let timestamp = text(self.entry, "timestamp");
        let moment = Moment::parse(timestamp);
        let usage =
            (role(self.entry) == "assistant").then(|| TokenUsage::of(&self.entry["message"]["usage"]));
        let usage = usage.filter(|usage| *usage != TokenUsage::default());
        html! {
            div.meta {
                @if !speaker.is_empty() { h2.who.unseen[speaker_is_known] { (speaker) } " " }
                @if let Some(label) = self.label() { span.label { (label) } " " }
                a.time href={ "#" (self.anchor()) } title={ "Link to this entry" @if !timestamp.is_empty() { " of " (timestamp) } } {
                    @match moment {
                        Some(moment) => time datetime=(timestamp) { (moment.time()) },
                        None => "#",
                    }
                }
                @if let Some(usage) = usage {
                    " " span.usage title={
                        (count(usage.input)) " in, " (count(usage.output)) " out, " (count(usage.cache_read)) " from the cache, "
                        (count(usage.cache_write)) " to the cache"
                    } {
                        (short_count(usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write))) " in, "
                        (short_count(usage.output)) " out"
                    }
                    @if usage.cost > 0.0 { " " span.usage { (cost(usage.cost)) } }
                }
            }
        }
    }
}

fn speaker(entry: &Value) -> String {
    let name = match (text(entry, "type"), role(entry)) {
        (_, "user") => "User",
        (_, "assistant") => "Assistant",
        (_, "toolResult") => "Tool",
        (_, "bashExecution") => "User",
        ("compaction", _) | (_, "compactionSummary") => "Compaction",
        ("branch_summary", _) | (_, "branchSummary") => "Summary",
        ("custom_message", _) => {
            return non_empty_or(text(entry, "customType").to_owned(), || "Extension".to_owned());
        }
        (_, "custom" | "hookMessage") => {
            return non_empty_or(text(&entry["message"], "customType").to_owned(), || "Extension".to_owned());
        }
        (_, "system") => "System",
        (_, role) => role,
    };
    name.to_owned()
}

fn thinking(block: &Value, highlighter: &Highlighter) -> Markup {
    let thought = text(block, "thinking");
    html! {
        @if flag(block, "redacted") {
            p.absent { "Thinking that the provider does not disclose." }
        } @else if !thought.trim().is_empty() {
            details.thinking {
                summary { span.what { "Thinking" } " " span.subject { (markdown::preview(thought, 120)) } }
                div.inside { (markdown(thought, LineEnds::Spaces, highlighter)) }
            }
        }
    }
}

/// Renders the reason why an answer ended early: an error, an abort, or the output limit.
fn ending(message: &Value) -> Markup {
    let title = match text(message, "stopReason") {
        "error" => "The request failed",
        "aborted" => "Aborted",
        "length" => "Cut off at the output limit",
        _ => return html! {},
    };
    html! {
        p.ending { strong { (title) } @if let Some(error) = optional_text(message, "errorMessage") { " " (error) } }
    }
}

fn compaction(summarised: &Value, highlighter: &Highlighter) -> Markup {
    let before = summarised.get("tokensBefore").and_then(Value::as_u64);
    let title = match before {
        Some(tokens) => format!("Everything before, {} tokens, was replaced by a summary", count(tokens)),
        None => "Everything before was replaced by a summary".to_owned(),
    };
    summary(&title, summarised, highlighter)
}

fn summary(title: &str, summarised: &Value, highlighter: &Highlighter) -> Markup {
    html! {
        details.more {
            summary { (title) }
            div.inside { (markdown(text(summarised, "summary"), LineEnds::Spaces, highlighter)) }
        }
    }
}

fn custom(message: &Value, highlighter: &Highlighter) -> Markup {
    let shown = content(message, LineEnds::Kept, highlighter);
    let hidden = message.get("display") == Some(&Value::Bool(false));
    html! {
        @if hidden { details.more { summary { "Not displayed to the user" } (shown) } } @else { (shown) }
        @if let Some(details) = message.get("details").filter(|details| !details.is_null()) {
            (folded_json("Details", details, highlighter))
        }
    }
}

/// Returns the members of a setting that its title does not show.
fn data(entry: &Value) -> Option<&Value> {
    match text(entry, "type") {
        "model_change" | "thinking_level_change" | "session_info" | "label" => None,
        "custom" => entry.get("data").filter(|data| !data.is_null()),
        _ => Some(entry),
    }
}

/// Returns the number of entries as text, such as `3 entries`.
pub(super) fn entry_count(entries: &[usize]) -> String {
    counted(entries.len(), "entry", "entries")
}
