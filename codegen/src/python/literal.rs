//! Python literals and names.

use agentese_protocol::model::ConstantValue;

use crate::names::{doc_lines, snake};

/// A string literal.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The text of a doc in one line, as a string literal.
pub fn doc(text: &str) -> String {
    quote(&doc_lines(text).join(" "))
}

/// A constant.
pub fn constant(value: ConstantValue) -> String {
    match value {
        ConstantValue::String(text) => quote(text),
        ConstantValue::Boolean(true) => "True".to_owned(),
        ConstantValue::Boolean(false) => "False".to_owned(),
    }
}

/// Words that no name can be.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
    "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// What every record has under its own name.
const TAKEN: &[&str] = &["raw", "to_dict", "from_json", "from_dict"];

/// Whether a member's name is a word that no name can be.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The attribute or parameter for a member.
pub fn attribute(name: &str) -> String {
    let name = snake(name);
    if is_keyword(&name) || TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}
