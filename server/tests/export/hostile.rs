//! Tests with sessions in which a payload replaces every text.

use agentese_server::export::{ExportInput, html};
use serde_json::{Map, Value, json};

use crate::support::{folder, page, sample};

/// Payloads that replace texts. The browser test detects calls of `pwned`.
pub const PAYLOADS: &[&str] = &[
    "<script>pwned('script')</script>",
    "\"><img src=x onerror=\"pwned('attribute')\">",
    "' onmouseover='pwned()' x='",
    "</script></style></title></textarea></code></pre><script>pwned('end tag')</script>",
    "--><script>pwned('comment')</script><!--",
    "]]><svg/onload=pwned('svg')>",
    "<iframe srcdoc=\"<script>parent.pwned('frame')</script>\"></iframe>",
    "[click](javascript:pwned('link')) ![picture](javascript:pwned('picture')) <javascript:pwned('auto')>",
    "[a]: javascript:pwned('reference)\n\n[a] [b](data:text/html,<script>pwned()</script>) [c](https://h.example/\"onclick=\"pwned())",
    "```\"><script>pwned('fence')</script>\n</code></pre><script>pwned('fenced')</script>\n```\n\n~~~html\n<script>pwned()</script>",
    "<link rel=stylesheet href=https://h.example/a.css><meta http-equiv=refresh content=0;url=https://h.example/>",
    "<base href=https://h.example/><form action=https://h.example/><button autofocus onfocus=pwned()>",
    "image/png\" onerror=\"pwned('mime')",
    "image/svg+xml",
    "{{pwned()}} ${pwned()} &lt;script&gt;pwned()&lt;/script&gt; \u{0}\u{2028}\u{202e}",
    "<a href=\"javascript:pwned('anchor')\" style=\"background:url(https://h.example/s)\">x</a><style>@import 'https://h.example/'</style>",
];

/// Returns the value with the payload in place of every text. Texts that determine the type of an object stay
/// unchanged. If `links` is true, so do the links between entries.
fn replaced(value: &Value, payload: &str, links: bool) -> Value {
    const STRUCTURE: &[&str] = &["type", "role"];
    const LINKS: &[&str] =
        &["id", "parentId", "targetId", "toolCallId", "name", "toolName", "timestamp", "mimeType"];
    match value {
        Value::String(_) => payload.into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, payload, links)).collect(),
        Value::Object(members) => {
            let member = |(name, member): (&String, &Value)| {
                let kept = STRUCTURE.contains(&name.as_str()) || (links && LINKS.contains(&name.as_str()));
                let member = if kept && member.is_string() {
                    member.clone()
                } else {
                    replaced(member, payload, links)
                };
                (name.clone(), member)
            };
            let mut members: Map<String, Value> = members.iter().map(member).collect();
            // The page shows names of members in arguments and details.
            if !members.contains_key("type") && !members.contains_key("role") {
                members.insert(payload.to_owned(), payload.into());
            }
            Value::Object(members)
        }
        other => other.clone(),
    }
}

/// Returns the page of a session whose texts are replaced by the payload.
pub fn hostile(payload: &str, links: bool) -> String {
    let session = sample();
    let header = replaced(&session.header, payload, false);
    let mut entries: Vec<Value> =
        session.entries.iter().map(|entry| replaced(entry, payload, links)).collect();
    entries.push(json!({"type": payload, "id": payload}));
    entries.push(json!({"type": "message", "id": payload, "message": {"role": payload, "content": payload}}));
    entries.push(json!({"type": "message", "message": {"role": "user", "content": [
        {"type": "image", "mimeType": payload, "data": "aGFsbG8="},
        {"type": "image", "mimeType": "image/png", "data": payload},
        {"type": payload, "text": payload},
    ]}}));
    let tools = [(payload.to_owned(), payload.to_owned())];
    let mut transcript = ExportInput::new(&header, &entries);
    (transcript.system_prompt, transcript.tools, transcript.leaf) = (Some(payload), &tools, Some(payload));
    html(&transcript)
}

/// Returns every tag of a page, found with stricter rules than a browser's.
fn tags(page: &str) -> Vec<&str> {
    let mut tags = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let end = rest.find('>').unwrap() + 1;
        tags.push(&rest[..end]);
        rest = match &rest[..end] {
            "<script>" => &rest[rest.find("</script>").unwrap()..],
            "<style>" => &rest[rest.find("</style>").unwrap()..],
            _ => &rest[end..],
        };
    }
    tags
}

#[test]
fn fm_f115_no_text_becomes_a_tag_or_an_attribute() {
    const KNOWN: &[&str] = &[
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "a",
        "div",
        "button",
        "label",
        "input",
        "span",
        "nav",
        "p",
        "ol",
        "ul",
        "li",
        "main",
        "header",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "time",
        "code",
        "pre",
        "dl",
        "dt",
        "dd",
        "strong",
        "small",
        "details",
        "summary",
        "section",
        "article",
        "img",
        "em",
        "del",
        "br",
        "hr",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "script",
    ];
    for payload in PAYLOADS {
        for links in [true, false] {
            let page = hostile(payload, links);
            for tag in tags(&page) {
                if tag.starts_with("<!") {
                    assert!(["<!DOCTYPE html>", "<!-- agentese session export -->"].contains(&tag), "{tag}");
                    continue;
                }
                let name = tag.trim_start_matches(['<', '/']).split([' ', '>']).next().unwrap();
                assert!(KNOWN.contains(&name), "{tag}");
                // Between the quotes of attributes is data; no text of the session may be outside of them.
                let outside: String = tag.split('"').step_by(2).collect();
                assert!(
                    !outside.contains(" on") && !outside.contains("pwned") && !outside.contains('\''),
                    "{tag}"
                );
                for address in ["href=\"", "src=\""] {
                    let Some(address) = tag.split(address).nth(1) else { continue };
                    let allowed = ["#", "https://h.example/", "data:,", "data:image/png;base64,"];
                    assert!(allowed.iter().any(|start| address.starts_with(start)), "{tag}");
                }
            }
            assert_eq!(page.matches("<script").count(), 1);
            assert_eq!(page.matches("<style").count(), 1);
        }
    }
}

#[test]
fn fm_f115_content_policy_matches_the_page() {
    use base64::Engine;
    use sha2::Digest;
    let page = page(&json!({}), &[]);
    let policy =
        page.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; img-src data:; ") && !policy.contains("unsafe"));
    for element in ["style", "script"] {
        let content = page.split(&format!("<{element}>")).nth(1).unwrap();
        let content = content.split(&format!("</{element}>")).next().unwrap();
        let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(content));
        assert!(policy.contains(&format!("{element}-src 'sha256-{hash}'")), "{policy}");
    }
    let first_content = page.find("<title>").unwrap();
    assert!(page.find("Content-Security-Policy").unwrap() < first_content);
}

/// Writes a page for each payload, for the browser test. Returns the number of pages.
pub fn write_pages() -> usize {
    let pages = PAYLOADS.iter().flat_map(|payload| [hostile(payload, true), hostile(payload, false)]);
    pages
        .enumerate()
        .map(|(index, page)| std::fs::write(folder().join(format!("hostile-{index}.html")), page))
        .for_each(Result::unwrap);
    PAYLOADS.len() * 2
}
