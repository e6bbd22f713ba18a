//! Content blocks: text, pictures, and JSON where there is nothing better to show.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{list, optional_text, text};
use super::format::counted;
use super::highlight::{Highlighter, Language};
use super::markdown::{LineEnds, markdown};

/// Pictures that a browser shows and that cannot hold script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The content of a message, which is a string or a list of blocks, with its texts as Markdown.
pub(super) fn content(message: &Value, line_ends: LineEnds, highlighter: &Highlighter) -> Markup {
    if let Some(text) = optional_text(message, "content") {
        return markdown(text, line_ends, highlighter);
    }
    html! {
        @for block in list(message, "content") {
            @match text(block, "type") {
                "text" => (markdown(text(block, "text"), line_ends, highlighter)),
                "image" => (picture(block)),
                _ => (unknown(block, highlighter)),
            }
        }
    }
}

/// A picture, which opens to its full size; or a line that says why there is none.
pub(super) fn picture(block: &Value) -> Markup {
    let (kind, data) = (text(block, "mimeType"), text(block, "data"));
    if !PICTURES.contains(&kind) {
        return html! { p.absent { "Picture of type " code { (kind) } " is not shown." } };
    }
    // The decoder decides what is base64: nothing else gets into the attribute.
    if data.is_empty() || STANDARD.decode(data).is_err() {
        return html! { p.absent { "Picture with data that is not base64 is not shown." } };
    }
    let size = counted(data.len() / 4 * 3 / 1024 + 1, "kilobyte", "kilobytes");
    html! {
        details.picture {
            summary { img alt={ "Picture, " (kind) ", " (size) } loading="lazy" src={ "data:" (kind) ";base64," (data) }; }
        }
    }
}

/// A block of a type that this page does not know.
pub(super) fn unknown(block: &Value, highlighter: &Highlighter) -> Markup {
    let kind = optional_text(block, "type").filter(|kind| !kind.is_empty()).unwrap_or("without a type");
    folded_json(&format!("Block {kind}"), block, highlighter)
}

/// JSON behind a line that names it.
pub(super) fn folded_json(title: &str, value: &Value, highlighter: &Highlighter) -> Markup {
    html! { details.more { summary { (title) } (json(value, highlighter)) } }
}

/// JSON, indented.
pub(super) fn json(value: &Value, highlighter: &Highlighter) -> Markup {
    // A value always has a text.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    html! { pre { code { (highlighter.code(&text, Language::Named("json"))) } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(kind: &str, data: &str) -> String {
        picture(&json!({"type": "image", "mimeType": kind, "data": data})).0
    }

    #[test]
    fn pictures_are_data() {
        assert!(shown("image/png", "aGFsbG8=").contains("src=\"data:image/png;base64,aGFsbG8=\""));
    }

    #[test]
    fn fm_f115_only_pictures_without_script() {
        for kind in ["image/svg+xml", "text/html", "image/png\" onerror=\"x", "IMAGE/PNG", "image/png;a", ""]
        {
            let shown = shown(kind, "aGFsbG8=");
            assert!(!shown.contains("<img") && !shown.contains("\" onerror"), "{shown}");
        }
        for data in ["", "a b", "aGFsbG8=\" onerror=\"x", "https://a.example/"] {
            assert!(!shown("image/png", data).contains("<img"), "{data}");
        }
    }
}
