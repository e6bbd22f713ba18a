//! Content blocks: text, pictures, and JSON for everything else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde_json::Value;

use super::fields::{list, optional_text, text};
use super::format::counted;
use super::highlight::{Highlighter, Language};
use super::markdown::{LineEnds, markdown};

/// MIME types of pictures that browsers show and that cannot contain a script.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Renders the content of a message: a string, or a list of blocks. Texts are rendered as Markdown.
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

/// Renders a picture with a link to its full size. If the picture cannot be shown, renders the reason.
pub(super) fn picture(block: &Value) -> Markup {
    let (kind, data) = (text(block, "mimeType"), text(block, "data"));
    if !PICTURES.contains(&kind) {
        return html! { p.absent { "Picture of type " code { (kind) } " is not shown." } };
    }
    // The decoder validates the base64 text, so the attribute contains nothing else.
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

/// Renders a content block of an unknown type as JSON.
pub(super) fn unknown(block: &Value, highlighter: &Highlighter) -> Markup {
    let kind = optional_text(block, "type").filter(|kind| !kind.is_empty()).unwrap_or("without a type");
    folded_json(&format!("Block {kind}"), block, highlighter)
}

/// Renders JSON in an element that unfolds when the title is clicked.
pub(super) fn folded_json(title: &str, value: &Value, highlighter: &Highlighter) -> Markup {
    html! { details.more { summary { (title) } (json(value, highlighter)) } }
}

/// Renders JSON with indentation.
pub(super) fn json(value: &Value, highlighter: &Highlighter) -> Markup {
    // Serializing a `Value` cannot fail.
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
