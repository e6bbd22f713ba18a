//! The sidebar: the tree of entries, with a link to each entry.

use std::io::{self, Write};

use maud::{Markup, html};

use super::kind::Kind;
use super::markup::{SLOT, write_markup};
use super::results::Results;
use super::tree::{Node, Tree};

/// The depth from which rows are not indented further.
const DEEPEST: usize = 5;

/// The views of the tree: id, name and description. The style sheet selects the rows of a view by its id.
const VIEWS: [(&str, &str, &str); 5] = [
    ("view-talk", "Default", "Messages and tool calls, without settings"),
    ("view-words", "No tools", "Messages, without tools and settings"),
    ("view-user", "User", "Messages of the user"),
    ("view-labels", "Labels", "Entries with a label"),
    ("view-all", "All", "Every entry of the file"),
];

/// Renders the search field, the choice of the view, and an empty list for the rows of the tree.
pub(super) fn sidebar(tree: &Tree) -> Markup {
    let has_labels = tree.has_labels();
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
            ol.rows { (SLOT) }
        }
    }
}

/// Writes the rows of the tree, one for each entry. Fails if writing to `out` fails.
pub(super) fn rows(tree: &Tree, results: &Results, out: &mut dyn Write) -> io::Result<()> {
    for (depth, line) in tree.lines() {
        for (place, &at) in line.iter().enumerate() {
            write_markup(out, &row(tree, results, at, depth, place == 0))?;
        }
    }
    Ok(())
}

fn row(tree: &Tree, results: &Results, at: usize, depth: usize, first: bool) -> Markup {
    let Node { kind, title, .. } = &tree.nodes[at];
    let label = tree.label(at);
    // The rows of its results describe the work of such a step.
    let answered = *kind == Kind::Step && results.has_all_results(at);
    let is_leaf = depth == 0 && tree.trunk.last() == Some(&at);
    html! {
        li.{ (kind.name()) }.{ "depth-" (depth.min(DEEPEST)) }.fork[depth > 0 && first].leaf[is_leaf]
            .labelled[label.is_some()].answered[answered]
        {
            a href={ "#" (tree.anchor(at)) } aria-current=[is_leaf.then_some("location")] {
                @if let Some(label) = label { span.label { (label) } " " }
                (title)
            }
        }
    }
}
