//! Other spellings of the same JSON, which every JSON reader has to treat as equal.

use serde_json::Value;

/// Shuffles the members of all objects.
pub fn shuffle(value: &mut Value, rng: &mut fastrand::Rng) {
    match value {
        Value::Object(members) => {
            let mut all: Vec<(String, Value)> = std::mem::take(members).into_iter().collect();
            rng.shuffle(&mut all);
            for (_, value) in &mut all {
                shuffle(value, rng);
            }
            members.extend(all);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shuffle(item, rng)),
        _ => {}
    }
}

/// A piece of JSON text.
enum JsonPiece<'a> {
    /// Text between the quotes of a string or a name.
    Quoted(&'a str),
    /// Text outside quotes.
    Plain(&'a str),
}

/// Splits a line at its quotes, which are removed. The pieces are alternately outside and inside
/// quotes.
fn pieces(line: &str) -> Vec<JsonPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(start) = rest.find('"') {
        pieces.push(JsonPiece::Plain(&rest[..start]));
        let text = &rest[start + 1..];
        let mut escaped = false;
        let end = text.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let end = end.unwrap_or(text.len());
        pieces.push(JsonPiece::Quoted(&text[..end]));
        rest = text.get(end + 1..).unwrap_or_default();
    }
    pieces.push(JsonPiece::Plain(rest));
    pieces
}

fn rewritten(
    line: &str,
    mut plain: impl FnMut(&str) -> String,
    mut quoted: impl FnMut(&str) -> String,
) -> String {
    pieces(line).into_iter().fold(String::with_capacity(line.len() * 2), |mut text, piece| {
        match piece {
            JsonPiece::Plain(piece) => text.push_str(&plain(piece)),
            JsonPiece::Quoted(piece) => {
                text.push('"');
                text.push_str(&quoted(piece));
                text.push('"');
            }
        }
        text
    })
}

/// Adds spaces and tabs between the pieces.
pub fn spaced(line: &str, rng: &mut fastrand::Rng) -> String {
    let plain = |piece: &str| {
        let spaced = |letter: char| match letter {
            ':' | ',' | '{' | '}' | '[' | ']' => {
                format!("{letter}{}", [" ", "", "  ", "\t"][rng.usize(0..4)])
            }
            letter => letter.to_string(),
        };
        piece.chars().map(spaced).collect()
    };
    rewritten(line, plain, str::to_owned).trim_end().to_owned()
}

/// Replaces some characters that need no escape by escapes.
pub fn escaped(line: &str, rng: &mut fastrand::Rng) -> String {
    let quoted = |piece: &str| {
        let mut text = String::with_capacity(piece.len() * 2);
        let mut letters = piece.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => {
                    text.push('\\');
                    let kind = letters.next();
                    text.extend(kind);
                    if kind == Some('u') {
                        text.extend(letters.by_ref().take(4));
                    }
                }
                '/' if rng.bool() => text.push_str("\\/"),
                letter if !letter.is_ascii() || rng.u8(0..16) == 0 => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        text.push_str(&format!("\\u{unit:04X}"));
                    }
                }
                letter => text.push(letter),
            }
        }
        text
    };
    rewritten(line, str::to_owned, quoted)
}

/// Appends a zero to each number that has a fraction.
pub fn digits(line: &str) -> String {
    let plain = |piece: &str| {
        let mut text = String::with_capacity(piece.len() + 8);
        let mut fraction = false;
        for letter in piece.chars() {
            if fraction && !letter.is_ascii_digit() {
                fraction = false;
                text.push('0');
            }
            fraction |= letter == '.';
            text.push(letter);
        }
        text
    };
    rewritten(line, plain, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"a":"x \" / ü\n","b":[1.5,{"c":-0.25e3,"d":7}],"e\\":"\\"}"#;

    fn is_same(text: &str) {
        assert_ne!(text, LINE);
        let value = |text: &str| -> Value {
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        assert_eq!(value(text), value(LINE), "{text}");
    }

    #[test]
    fn other_spellings_are_the_same_json() {
        for seed in 0..50 {
            let mut rng = fastrand::Rng::with_seed(seed);
            is_same(&spaced(LINE, &mut rng));
            is_same(&escaped(LINE, &mut rng));
        }
        is_same(&digits(LINE));
        let mut value: Value = serde_json::from_str(LINE).unwrap();
        let mut rng = fastrand::Rng::with_seed(3);
        shuffle(&mut value, &mut rng);
        is_same(&value.to_string());
    }
}
