//! Names in the styles of the target languages.

/// Splits a name in any style into words: `toolCall`, `agent_start`, `session/start`, `one-at-a-time`.
pub fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous_lower = false;
    let mut start = true;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() {
            start = true;
            previous_lower = false;
            continue;
        }
        if start || (c.is_ascii_uppercase() && previous_lower) {
            words.push(String::new());
        }
        start = false;
        previous_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        if let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
    }
    words
}

/// Converts a name to `ToolCall` style.
pub fn pascal(name: &str) -> String {
    words(name)
        .iter()
        .map(|word| {
            let (head, tail) = word.split_at(1);
            head.to_ascii_uppercase() + tail
        })
        .collect()
}

/// Converts a name to `tool_call` style.
pub fn snake(name: &str) -> String {
    words(name).join("_")
}

/// Converts a name to `toolCall` style.
pub fn camel(name: &str) -> String {
    let name = pascal(name);
    let (head, tail) = name.split_at(1);
    head.to_ascii_lowercase() + tail
}

/// Returns a Rust identifier: [`snake`], escaped if it is a keyword.
pub fn rust_field(name: &str) -> String {
    let name = snake(name);
    match name.as_str() {
        "type" | "ref" | "match" | "in" | "as" | "use" | "mod" | "move" | "loop" => format!("r#{name}"),
        _ => name,
    }
}

/// Returns the lines of a doc text, trimmed.
pub fn doc_lines(doc: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = doc.lines().map(str::trim).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// Returns the first sentence of a doc text, in one line.
pub fn first_sentence(doc: &str) -> String {
    let text = doc_lines(doc).join(" ");
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles() {
        assert_eq!(pascal("one-at-a-time"), "OneAtATime");
        assert_eq!(pascal("session/start"), "SessionStart");
        assert_eq!(pascal("toolCall"), "ToolCall");
        assert_eq!(snake("textSignature"), "text_signature");
        assert_eq!(snake("maxCostUsd"), "max_cost_usd");
        assert_eq!(camel("set_editor_text"), "setEditorText");
        assert_eq!(rust_field("type"), "r#type");
    }
}
