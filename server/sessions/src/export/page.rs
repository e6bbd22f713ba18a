//! The HTML document of an export.

use std::io::{self, Write};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::MARKER;
use super::entries::RedactedEntries;
use super::entry::{EntryRenderer, entry_count};
use super::fields::{optional_text, text};
use super::format::{cost, count, counted, span};
use super::highlight::{Highlighter, Language};
use super::kind::Kind;
use super::markup::{SLOT, split_at_slots, write_markup};
use super::outline::Outline;
use super::sidebar::{rows, sidebar};
use super::tree::{Branch, Tree};

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");

/// The themes: id and name. The style sheet refers to the ids.
const THEMES: [(&str, &str); 3] = [("theme-auto", "Auto"), ("theme-light", "Light"), ("theme-dark", "Dark")];

/// The content security policy of the page. The page loads nothing, and uses only its own style and script, which the
/// policy identifies by their hashes.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
});

/// The input of an export after its secrets were replaced.
pub(super) struct Page<'a> {
    pub header: &'a Value,
    pub entries: &'a RedactedEntries<'a>,
    pub leaf: Option<&'a str>,
    pub system_prompt: Option<&'a str>,
    pub tools: &'a [(String, String)],
}

/// Writes the page. Fails if writing to `out` fails.
pub(super) fn write_page(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let outline = Outline::of(page.entries, page.leaf);
    let highlighter = Highlighter::default();
    let Outline { tree, results, title, .. } = &outline;
    // The heading may use up the limit for highlighting, so it precedes the conversation.
    let document = document(page, &outline, title, &highlighter);
    let [start, between, end] = split_at_slots(&document);
    let session = EntryRenderer { entries: page.entries, tree, results, highlighter: &highlighter };
    // The marker follows the doctype, so that browsers use standards mode.
    write!(out, "<!DOCTYPE html>\n{MARKER}\n{start}")?;
    rows(tree, results, out)?;
    out.write_all(between.as_bytes())?;
    conversation(&session, out)?;
    writeln!(out, "{end}")
}

/// Renders the document, with placeholders for the rows of the tree and for the conversation.
fn document(page: &Page, outline: &Outline, title: &str, highlighter: &Highlighter) -> Markup {
    html! {
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
                (bar(title))
                div.columns {
                    (sidebar(&outline.tree))
                    main {
                        (heading(page, outline, highlighter))
                        section #conversation aria-label="Conversation" { (SLOT) }
                        footer { "Session " code { (text(page.header, "id")) } ", exported by agentese " (env!("CARGO_PKG_VERSION")) "." }
                    }
                }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Renders the bar at the top of the page, with the title and the switches.
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

fn heading(page: &Page, outline: &Outline, highlighter: &Highlighter) -> Markup {
    let header = page.header;
    let Outline { stats: totals, title, .. } = outline;
    let start = text(header, "timestamp");
    let when = span(start, outline.last.as_deref().unwrap_or(start));
    let branches = outline.tree.branch_count();
    html! {
        header #top {
            p.kicker { "Session" @if !when.is_empty() { " · " time datetime=(start) { (when) } } }
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
            @if let Some(prompt) = page.system_prompt {
                details.more {
                    summary { "System prompt" }
                    pre.prompt { code { (highlighter.code(prompt, Language::Named("markdown"))) } }
                }
            }
            @if !page.tools.is_empty() {
                details.more {
                    summary { (counted(page.tools.len(), "tool", "tools")) }
                    dl.tools { @for (name, description) in page.tools { dt { (name) } dd { (description) } } }
                }
            }
        }
    }
}

fn total(name: &str, value: &str, note: &str) -> Markup {
    html! { div { dt { (name) } dd { strong { (value) } @if !note.is_empty() { " " small { (note) } } } } }
}

fn conversation(renderer: &EntryRenderer, out: &mut dyn Write) -> io::Result<()> {
    let tree = renderer.tree;
    if tree.nodes.is_empty() {
        write_markup(out, &html! { p.absent { "No messages yet." } })?;
    }
    let write_branches = |after, out: &mut dyn Write| {
        tree.branches(after).iter().try_for_each(|branch| self::branch(renderer, branch, out))
    };
    write_branches(None, out)?;
    for (at, above) in with_above(tree, &tree.trunk) {
        write_markup(out, &renderer.entry(at, above))?;
        write_branches(Some(at), out)?;
    }
    Ok(())
}

fn branch(renderer: &EntryRenderer, branch: &Branch, out: &mut dyn Write) -> io::Result<()> {
    let tree = renderer.tree;
    let talk = branch.entries.iter().map(|at| &tree.nodes[*at]).find(|node| node.kind != Kind::Setting);
    let markup = html! {
        details.branch.nested[branch.depth > 1] {
            summary {
                span.what { "Branch" } " "
                span.subject dir="auto" { (talk.map_or("", |node| &node.title)) } " "
                span.state { (entry_count(&branch.entries)) }
            }
            div.inside {
                @if let Some(from) = branch.from.filter(|_| branch.depth > 1) {
                    p.absent { "Leaves another branch after " a href={ "#" (tree.anchor(from)) } { (tree.nodes[from].title) } }
                }
                (SLOT)
            }
        }
    };
    let [start, end] = split_at_slots(&markup);
    out.write_all(start.as_bytes())?;
    for (at, above) in with_above(tree, &branch.entries) {
        write_markup(out, &renderer.entry(at, above))?;
    }
    out.write_all(end.as_bytes())
}

/// Returns the entries of a branch, each with the kind of the last entry before it that is not a setting.
fn with_above(tree: &Tree, line: &[usize]) -> impl Iterator<Item = (usize, Option<Kind>)> {
    line.iter().scan(None, |last, &at| {
        let above = *last;
        match tree.nodes[at].kind {
            Kind::Setting => {}
            kind => *last = Some(kind),
        }
        Some((at, above))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that style and script do not contain the end of their element.
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
        // With it, a page of ten thousand entries took half a minute to open.
        assert!(!STYLE.contains(":has("));
    }
}
