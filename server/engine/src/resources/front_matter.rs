//! YAML front matter of a Markdown text.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config::yaml::from_yaml;

/// The members that this program uses. Other members are for other programs.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct FrontMatter {
    pub name: Option<String>,
    pub description: Option<String>,
    pub disable_model_invocation: Option<bool>,
}

/// The reason why front matter cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrontMatterError {
    /// The closing line is missing.
    #[error("its front matter has no closing ---")]
    Unclosed,
    /// The text is not YAML, or a member has the wrong type.
    #[error("its front matter cannot be read: {0}")]
    Yaml(String),
}

/// A text and its front matter. Line ends are LF.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document<F = FrontMatter> {
    /// The front matter, or `None` if the text does not begin with a line of three dashes.
    pub front_matter: Option<F>,
    /// The text after the front matter, trimmed. Without front matter, the whole text.
    pub body: String,
}

/// Returns all members of the front matter of a Markdown text, and the trimmed text after it. A text without front
/// matter has no members. Fails if the front matter has no closing line or cannot be parsed, as for a skill.
pub fn members(text: &str) -> Result<(Map<String, Value>, String), FrontMatterError> {
    let text = text.replace("\r\n", "\n");
    let Some(after) =
        text.strip_prefix("---").and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix('\n'))
    else {
        return Ok((Map::new(), text));
    };
    let (yaml, body) = split(after).ok_or(FrontMatterError::Unclosed)?;
    let members = match from_yaml(yaml).map_err(FrontMatterError::Yaml)? {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        _ => return Err(FrontMatterError::Yaml("expected members".to_owned())),
    };
    Ok((members, body.trim().to_owned()))
}

/// Separates a text from its front matter.
pub(super) fn parse(text: &str) -> Result<Document, FrontMatterError> {
    parse_as(text)
}

/// Works like [`parse`], with the front matter as type `F`.
pub(super) fn parse_as<F: DeserializeOwned + Default>(text: &str) -> Result<Document<F>, FrontMatterError> {
    let text: Cow<'_, str> =
        if text.contains('\r') { text.replace("\r\n", "\n").into() } else { text.into() };
    let Some(after) =
        text.strip_prefix("---").and_then(|rest| rest.trim_start_matches([' ', '\t']).strip_prefix('\n'))
    else {
        return Ok(Document { front_matter: None, body: text.into_owned() });
    };
    let (yaml, body) = split(after).ok_or(FrontMatterError::Unclosed)?;
    Ok(Document { front_matter: Some(read(yaml)?), body: body.trim().to_owned() })
}

/// Splits a text at the line of three dashes that ends the front matter.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim_end() == "---" {
            return Some((&text[..start], &text[end..]));
        }
        start = end;
    }
    None
}

fn read<F: DeserializeOwned + Default>(yaml: &str) -> Result<F, FrontMatterError> {
    // Empty, or only comments.
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(F::default());
    }
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        // A warning is one line on stderr.
        let reason = error.to_string();
        FrontMatterError::Yaml(reason.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str) -> String {
        parse(text).unwrap().body
    }

    fn members(yaml: &str) -> FrontMatter {
        parse(&format!("---\n{yaml}\n---\nbody")).unwrap().front_matter.unwrap()
    }

    fn refused(yaml: &str) -> String {
        parse(&format!("---\n{yaml}\n---\nbody")).unwrap_err().to_string()
    }

    fn described(description: &str) -> FrontMatter {
        FrontMatter { description: Some(description.to_owned()), ..FrontMatter::default() }
    }

    #[test]
    fn body_follows_the_front_matter() {
        assert_eq!(body("plain\n"), "plain\n");
        assert_eq!(body("---\nname: a\n---\n\n# A\n\nb\n\n"), "# A\n\nb");
        assert_eq!(body("---\r\nname: a\r\n--- \r\nx\r\ny\r\n"), "x\ny");
        assert_eq!(body("---\n---\nx"), "x");
        assert_eq!(body("---\n# nothing\n---"), "");
        assert_eq!(body("--- title\nx"), "--- title\nx");
        assert_eq!(body("----\nx\n---\n"), "----\nx\n---\n");
        assert!(matches!(parse("---\nname: a\n"), Err(FrontMatterError::Unclosed)));
    }

    #[test]
    fn yaml_is_read_as_yaml() {
        assert_eq!(members("description: \"a: b\" # why"), described("a: b"));
        assert_eq!(
            members("description: >\n  two\n  lines\nlicense: MIT\nmetadata: {a: [1]}"),
            described("two lines\n")
        );
        assert_eq!(members("description: 2026"), described("2026"));
        assert_eq!(members("description:"), FrontMatter::default());
        assert_eq!(members("disable-model-invocation: true").disable_model_invocation, Some(true));
        assert_eq!(members("name: ünï").name.as_deref(), Some("ünï"));
    }

    #[test]
    fn fm_f122_invalid_front_matter_is_rejected_in_one_line() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let one = format!("*a{}", level - 1);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![one; 9].join(", ")));
        }
        for yaml in [
            "description: use when: always",
            "description: [a]",
            "- a\n- b",
            "description: a\ndescription: b",
            "disable-model-invocation: maybe",
            "description: !!python/object/apply:os.system [x]",
            &format!("description: {}", "[".repeat(100_000)),
            &bomb,
        ] {
            let reason = refused(yaml);
            assert!(reason.starts_with("its front matter cannot be read: "), "{reason}");
            assert!(!reason.contains('\n') && reason.len() < 400, "{reason}");
        }
    }
}
