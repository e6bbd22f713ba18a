//! The whole document.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::MARKER;
use super::entry::{Kind, Session, entry_count};
use super::fields::{optional_text, plain_content, text};
use super::format::{cost, count, counted, preview, span};
use super::highlight::{Highlighter, Language};
use super::markdown;
use super::results::Results;
use super::sidebar::sidebar;
use super::totals::Totals;
use super::tree::{Branch, Tree};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The colours. The style sheet knows the ids.
const THEMES: [(&str, &str); 3] = [("theme-auto", "Auto"), ("theme-light", "Light"), ("theme-dark", "Dark")];

/// Nothing is loaded and nothing runs but the style and the script of this file, which are named by their hashes.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

/// A transcript without its secrets.
pub(super) struct Clean<'a> {
    pub header: &'a Value,
    pub entries: &'a [Cow<'a, Value>],
    pub leaf: Option<&'a str>,
    pub system_prompt: Option<&'a str>,
    pub tools: &'a [(String, String)],
}

impl<'a> Clean<'a> {
    fn entries(&self) -> impl DoubleEndedIterator<Item = &'a Value> + use<'a> {
        self.entries.iter().map(Cow::as_ref)
    }
}

/// The page, with all that it needs.
pub(super) fn page(transcript: &Clean) -> String {
    let tree = Tree::new(transcript.entries(), transcript.leaf);
    let (results, highlighter) = (Results::of(&tree), Highlighter::default());
    let session = Session { tree: &tree, results: &results, highlighter: &highlighter };
    let title = title(transcript, &tree);
    let body = html! {
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(*POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                meta name="generator" content={ "agentese " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#conversation" { "To the conversation" }
                @for (id, _) in THEMES { input type="radio" name="theme" id=(id) checked[id == "theme-auto"]; }
                div.page {
                (bar(&title))
                div.columns {
                    (sidebar(&session))
                    main {
                        (heading(transcript, &tree, &title, &highlighter))
                        section #conversation aria-label="Conversation" { (conversation(&session)) }
                        footer { "Session " code { (text(transcript.header, "id")) } ", exported by agentese " (env!("CARGO_PKG_VERSION")) "." }
                    }
                }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // The marker stands behind the doctype, so that browsers see a standard document.
    format!("<!DOCTYPE html>\n{MARKER}\n{}\n", body.0)
}

/// The session's name, or how it begins.
fn title(transcript: &Clean, tree: &Tree) -> String {
    let named = transcript.entries().rev().find(|entry| text(entry, "type") == "session_info");
    let name = named.map(|entry| preview(text(entry, "name"), 120)).filter(|name| !name.is_empty());
    let first_words = || {
        let of_user =
            tree.trunk.iter().map(|&at| tree.nodes[at].entry).find(|entry| Kind::of(entry) == Kind::User)?;
        let words = markdown::preview(&plain_content(&of_user["message"]), 80);
        (!words.is_empty()).then_some(words)
    };
    name.or_else(first_words).unwrap_or_else(|| "Session".to_owned())
}

/// What stays at the top: where one is, and the switches.
fn bar(title: &str) -> Markup {
    html! {
        div.bar {
            button.entries type="button" popovertarget="tree" { "Entries" }
            a.name href="#top" { (title) }
            div.folds hidden {
                button type="button" data-folds="thinking" aria-pressed="false" { "Thinking" }
                button type="button" data-folds="call" aria-pressed="false" { "Tools" }
            }
            div.switch {
                @for (id, name) in THEMES { label for=(id) title={ "Colours: " (name) } { (name) } }
            }
        }
    }
}

fn heading(transcript: &Clean, tree: &Tree, title: &str, highlighter: &Highlighter) -> Markup {
    let header = transcript.header;
    let totals = Totals::of(transcript.entries());
    let begun = text(header, "timestamp");
    let last =
        transcript.entries().rev().find_map(|entry| optional_text(entry, "timestamp")).unwrap_or(begun);
    let when = span(begun, last);
    let branches = tree.branch_count();
    html! {
        header #top {
            p.kicker { "Session" @if !when.is_empty() { " · " time datetime=(begun) { (when) } } }
            h1 dir="auto" { (title) }
            p.place {
                @if let Some(cwd) = optional_text(header, "cwd") { code { (cwd) } }
                @for model in &totals.models { " " span.model { (model) } }
            }
            dl.totals {
                (total("Messages", &count(totals.messages), &format!("{} of the user, {} of the model", count(totals.user), count(totals.assistant))))
                (total("Tool calls", &count(totals.tool_calls), &format!("{} results", count(totals.tool_results))))
                (total("Tokens in", &count(totals.tokens.input), "without those from the cache"))
                (total("Tokens out", &count(totals.tokens.output), ""))
                (total("Cache", &count(totals.tokens.cache_read), &format!("read; {} written", count(totals.tokens.cache_write))))
                (total("Cost", &cost(totals.tokens.cost), "US dollars"))
            }
            @if branches > 0 {
                p.absent {
                    "With " (counted(branches, "branch", "branches")) " beside the conversation; the totals count all of them."
                }
            }
            @if let Some(parent) = optional_text(header, "parentSession") { p.absent { "Comes from " code { (parent) } } }
            @if let Some(prompt) = transcript.system_prompt {
                details.more {
                    summary { "System prompt" }
                    pre.prompt { code { (highlighter.code(prompt, Language::Named("markdown"))) } }
                }
            }
            @if !transcript.tools.is_empty() {
                details.more {
                    summary { (counted(transcript.tools.len(), "tool", "tools")) }
                    dl.tools { @for (name, description) in transcript.tools { dt { (name) } dd { (description) } } }
                }
            }
        }
    }
}

fn total(name: &str, value: &str, note: &str) -> Markup {
    html! { div { dt { (name) } dd { strong { (value) } @if !note.is_empty() { " " small { (note) } } } } }
}

fn conversation(session: &Session) -> Markup {
    let tree = session.tree;
    html! {
        @if tree.nodes.is_empty() { p.absent { "Nothing was said yet." } }
        @for branch in tree.branches(None) { (self::branch(session, branch)) }
        @for (at, above) in with_above(tree, &tree.trunk) {
            (session.entry(at, above))
            @for branch in tree.branches(Some(at)) { (self::branch(session, branch)) }
        }
    }
}

fn branch(session: &Session, branch: &Branch) -> Markup {
    let tree = session.tree;
    let talk = branch.entries.iter().find(|at| Kind::of(tree.nodes[**at].entry) != Kind::Setting);
    html! {
        details.branch.nested[branch.depth > 1] {
            summary {
                span.what { "Branch" } " "
                span.subject dir="auto" { (talk.map(|&at| session.title(at)).unwrap_or_default()) } " "
                span.state { (entry_count(&branch.entries)) }
            }
            div.inside {
                @if let Some(from) = branch.from.filter(|_| branch.depth > 1) {
                    p.absent { "Leaves another branch after " a href={ "#" (tree.nodes[from].anchor) } { (session.title(from)) } }
                }
                @for (at, above) in with_above(tree, &branch.entries) { (session.entry(at, above)) }
            }
        }
    }
}

/// The entries of a line, each with the kind of what stands above it.
fn with_above(tree: &Tree, line: &[usize]) -> impl Iterator<Item = (usize, Option<Kind>)> {
    line.iter().scan(None, |last, &at| {
        let above = *last;
        match Kind::of(tree.nodes[at].entry) {
            Kind::Setting => {}
            kind => *last = Some(kind),
        }
        Some((at, above))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Either would end its element early.
    #[test]
    fn style_and_script_stay_in_their_elements() {
        assert!(!STYLE.contains('<') && !SCRIPT.to_lowercase().contains("</") && !SCRIPT.contains("<!--"));
        assert!(
            !STYLE.contains('\r') && !SCRIPT.contains('\r'),
            "browsers hash after they have changed line ends"
        );
    }

    #[test]
    fn the_style_loads_nothing_and_stays_fast() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        // Ten thousand entries took half a minute to open.
        assert!(!STYLE.contains(":has("));
    }
}
