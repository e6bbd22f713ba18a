//! Python literals and names.

use agentese_protocol::model::ConstantValue;

use crate::names::{doc_lines, snake};

/// Returns a string literal.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the text of a doc in one line, as a string literal.
pub fn doc(text: &str) -> String {
    quote(&doc_lines(text).join(" "))
}

/// Returns the literal of a constant.
pub fn constant(value: ConstantValue) -> String {
    match value {
        ConstantValue::String(text) => quote(text),
        ConstantValue::Boolean(true) => "True".to_owned(),
        ConstantValue::Boolean(false) => "False".to_owned(),
    }
}

/// Keywords, which cannot be names.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
    "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Names that every record already has.
const TAKEN: &[&str] = &["raw", "to_dict", "from_json", "from_dict"];

/// Returns `true` if the name of a member is a keyword.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// Returns the attribute or parameter of a member.
pub fn attribute(name: &str) -> String {
    let name = snake(name);
    if is_keyword(&name) || TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}
