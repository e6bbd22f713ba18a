//! Tests with the framing vectors that are shared by all languages.

use agentese::framing::{Bom, Framer, FramerOptions, FramingError};
use serde_json::{Value, json};

fn decode(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let value = ALPHABET.iter().position(|letter| *letter == byte).expect("base64");
        held = held << 6 | u32::try_from(value).expect("six bits");
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).expect("a byte"));
        }
    }
    bytes
}

#[test]
fn the_framer_passes_the_vectors_of_all_languages() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../vectors/framing.json")).unwrap();
    assert!(vectors.len() > 15);
    for vector in vectors {
        let mut options = FramerOptions::default();
        if let Some(limit) = vector["options"]["max_line"].as_u64() {
            options.max_line = usize::try_from(limit).unwrap();
        }
        if vector["options"]["keep_bom"] == true {
            options.bom = Bom::Keep;
        }
        let mut framer = Framer::new(options);
        let mut found = Vec::new();
        let mut take = |line: Result<agentese::framing::Line<'_>, FramingError>| {
            found.push(match line {
                Ok(line) => json!({"line": line.text}),
                Err(FramingError::TooLong { limit, offset }) => {
                    json!({"error": "too_long", "offset": offset, "bytes": limit})
                }
                Err(FramingError::InvalidUtf8 { line_start, valid_up_to }) => {
                    json!({"error": "invalid_utf8", "offset": line_start, "bytes": valid_up_to})
                }
                Err(other) => panic!("{other}"),
            });
        };
        for chunk in vector["chunks"].as_array().unwrap() {
            framer.push(&decode(chunk.as_str().unwrap()), &mut take);
        }
        framer.finish(&mut take);
        assert_eq!(Value::from(found), vector["expect"], "{} ({})", vector["name"], vector["row"]);
    }
}
