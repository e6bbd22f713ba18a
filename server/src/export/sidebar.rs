//! The tree of entries: what there is, and the way to it.

use maud::{Markup, html};

use super::entry::{Kind, Session};
use super::results::calls;

/// Indents stop growing here.
const DEEPEST: usize = 5;

/// The views of the tree. The style sheet decides by the view's id which rows each one shows.
const VIEWS: [(&str, &str, &str); 5] = [
    ("view-talk", "Default", "What was said and done, without settings"),
    ("view-words", "No tools", "What was said, without tools and settings"),
    ("view-user", "User", "What the user said"),
    ("view-labels", "Labels", "Entries with a label"),
    ("view-all", "All", "Every entry of the file"),
];

/// The search, the views and the tree.
pub(super) fn sidebar(session: &Session) -> Markup {
    let has_labels = session.tree.nodes.iter().any(|node| node.label.is_some());
    let views = VIEWS.iter().filter(|(id, ..)| has_labels || *id != "view-labels");
    html! {
        nav #tree popover="auto" aria-label="Entries" {
            div.find hidden {
                input #search type="search" placeholder="Search" aria-label="Search the session" autocomplete="off" spellcheck="false";
                p #found role="status" {}
            }
            @for (id, ..) in views.clone() { input type="radio" name="view" id=(id) checked[*id == "view-talk"]; }
            div.switch {
                @for (id, name, title) in views { label for=(id) title=(title) { (name) } }
            }
            ol.rows {
                @for (depth, line) in session.tree.lines() {
                    @for (place, &at) in line.iter().enumerate() { (row(session, at, depth, place == 0)) }
                }
            }
        }
    }
}

fn row(session: &Session, at: usize, depth: usize, first: bool) -> Markup {
    let node = &session.tree.nodes[at];
    let kind = Kind::of(node.entry);
    // The rows of its results say what such a step did.
    let answered = kind == Kind::Step
        && calls(node.entry).all(|(block, _)| session.results.result(at, block).is_some())
        && calls(node.entry).next().is_some();
    let is_leaf = depth == 0 && session.tree.trunk.last() == Some(&at);
    html! {
        li.{ (kind.name()) }.{ "depth-" (depth.min(DEEPEST)) }.fork[depth > 0 && first].leaf[is_leaf]
            .labelled[node.label.is_some()].answered[answered]
        {
            a href={ "#" (node.anchor) } aria-current=[is_leaf.then_some("location")] {
                @if let Some(label) = node.label { span.label { (label) } " " }
                (session.title(at))
            }
        }
    }
}
