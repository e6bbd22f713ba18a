//! Parser of the tags in the output of a model: `<status>…</status>` and `<title>…</title>`. The parser
//! removes the tags from the text. Tags may be split between pieces at any position.

/// The maximum length of the content of a tag, in bytes. A longer one is treated as text.
const MAX_TAG_BYTES: usize = 512;

/// A piece of the model's output: text, or the content of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text for the reader.
    Text(String),
    /// The current activity of the model, as a short text.
    Status(String),
    /// The title of the conversation.
    Title(String),
}

type PieceConstructor = fn(String) -> Piece;

const TAGS: [(&str, &str, PieceConstructor); 2] =
    [("<status>", "</status>", Piece::Status), ("<title>", "</title>", Piece::Title)];

/// Removes the tags from a text that arrives piece by piece.
#[derive(Debug, Default)]
pub(super) struct TagParser {
    /// The beginning of a possible tag, held until its rest arrives.
    buffer: String,
}

/// The result of matching the start of a text against the tags.
enum TagMatch {
    /// The text begins with a complete tag. Contains the tag, and its length in bytes.
    Tag(Piece, usize),
    /// The text may begin with a tag; more text is needed to decide.
    Open,
    /// The text does not begin with a tag.
    Text,
}

impl TagParser {
    /// Reads the next part of the text. Returns the pieces that are now complete, with adjacent texts joined.
    pub fn push(&mut self, text: &str) -> Vec<Piece> {
        self.buffer.push_str(text);
        let all = std::mem::take(&mut self.buffer);
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), all.as_str());
        while let Some(at) = rest.find('<') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            match match_tag(rest) {
                TagMatch::Tag(piece, length) => {
                    flush(&mut plain, &mut pieces);
                    pieces.push(piece);
                    rest = &rest[length..];
                }
                TagMatch::Open => {
                    rest.clone_into(&mut self.buffer);
                    rest = "";
                }
                TagMatch::Text => {
                    plain.push('<');
                    rest = &rest[1..];
                }
            }
        }
        plain.push_str(rest);
        flush(&mut plain, &mut pieces);
        pieces
    }

    /// Ends the text. If the beginning of a tag was held, returns it as text.
    pub fn finish(&mut self) -> Option<Piece> {
        let rest = std::mem::take(&mut self.buffer);
        (!rest.is_empty()).then_some(Piece::Text(rest))
    }
}

fn flush(plain: &mut String, pieces: &mut Vec<Piece>) {
    if !plain.is_empty() {
        pieces.push(Piece::Text(std::mem::take(plain)));
    }
}

fn match_tag(text: &str) -> TagMatch {
    for (open, close, made) in TAGS {
        if let Some(content) = text.strip_prefix(open) {
            return match content.find(close) {
                Some(end) if end <= MAX_TAG_BYTES => {
                    TagMatch::Tag(made(content[..end].trim().to_owned()), open.len() + end + close.len())
                }
                None if content.len() <= MAX_TAG_BYTES + close.len() => TagMatch::Open,
                _ => TagMatch::Text,
            };
        }
        if open.starts_with(text) {
            return TagMatch::Open;
        }
    }
    TagMatch::Text
}

/// Returns a complete text without its tags.
pub(super) fn without_tags(text: &str) -> String {
    let mut tags = TagParser::default();
    let mut pieces = tags.push(text);
    pieces.extend(tags.finish());
    let texts = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text),
        Piece::Status(_) | Piece::Title(_) => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Piece::{Status, Text, Title};
    use super::*;

    fn parse_all(pieces: &[&str]) -> Vec<Piece> {
        let mut tags = TagParser::default();
        let mut all: Vec<Piece> = pieces.iter().flat_map(|piece| tags.push(piece)).collect();
        all.extend(tags.finish());
        all
    }

    #[test]
    fn tags_are_cut_out_also_across_pieces() {
        let text = |text: &str| Text(text.to_owned());
        assert_eq!(
            parse_all(&[
                "<title>Fix the ",
                "parser</title>",
                "<status>Reading ",
                "files</status>",
                "Hello <sta",
                "tus>Thinking</status>world",
                " a < b"
            ]),
            [
                Title("Fix the parser".to_owned()),
                Status("Reading files".to_owned()),
                text("Hello "),
                Status("Thinking".to_owned()),
                text("world"),
                text(" a < b"),
            ]
        );
    }

    #[test]
    fn incomplete_and_unknown_tags_are_text() {
        for text in [
            "a < b",
            "<b>",
            "<status",
            "<status>never closed",
            "</status>",
            "<Title>x</Title>",
            "<",
            "<<status",
        ] {
            assert_eq!(without_tags(text), text);
        }
        let long = format!("<status>{}</status>", "x".repeat(MAX_TAG_BYTES + 1));
        assert_eq!(without_tags(&long), long);
        assert_eq!(without_tags("<<status>x</status>>"), "<>");
    }

    proptest! {
        #[test]
        fn result_is_independent_of_the_split(
            parts in prop::collection::vec(prop::sample::select(vec!["<status>", "</status>", "<title>", "</title>", "<", "ä", "x "]), 0..12),
            cut in 0usize..80
        ) {
            let text = parts.concat();
            let whole: String = without_tags(&text);
            let cut = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(cut % (text.chars().count() + 1)).unwrap();
            let mut tags = TagParser::default();
            let mut pieces = tags.push(&text[..cut]);
            pieces.extend(tags.push(&text[cut..]));
            pieces.extend(tags.finish());
            let output: String = pieces.into_iter().filter_map(|piece| match piece { Text(text) => Some(text), _ => None }).collect();
            prop_assert_eq!(output, whole);
        }
    }
}
