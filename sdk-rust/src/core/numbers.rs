//! Numbers in JSON text that Rust cannot represent exactly.

/// The largest double, as JSON. It replaces numbers of greater magnitude; the sign is kept.
const LARGEST: &str = "1.7976931348623157e308";

/// Returns the first number that cannot be read exactly. This is an integer that needs more than 64 bits, or a
/// number that exceeds the largest double.
pub(crate) fn inexact(text: &str) -> Option<&str> {
    Numbers { text, at: 0 }.map(|(_, number)| number).find(|number| !is_exact(number))
}

/// Replaces each number that exceeds the largest double by that double. Returns `None` if there is no such
/// number.
pub(crate) fn limited(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, number) in (Numbers { text, at: 0 }).filter(|(_, number)| is_infinite(number)) {
        out.push_str(&text[copied..at]);
        out.push_str(if number.starts_with('-') { "-" } else { "" });
        out.push_str(LARGEST);
        copied = at + number.len();
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

fn is_infinite(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(f64::is_infinite)
}

fn is_exact(number: &str) -> bool {
    match number.contains(['.', 'e', 'E']) {
        true => !is_infinite(number),
        false => number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok(),
    }
}

/// The numbers outside of strings, each with its position.
struct Numbers<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Numbers<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => self.string(),
                b'-' | b'0'..=b'9' => break,
                _ => self.at += 1,
            }
        }
        let start = self.at;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        self.at += bytes[start..].iter().take_while(|byte| is_part(byte)).count();
        Some((start, &self.text[start..self.at]))
    }
}

impl Numbers<'_> {
    fn string(&mut self) {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(next) = memchr::memchr2(b'"', b'\\', bytes.get(self.at..).unwrap_or_default()) {
            let is_end = bytes[self.at + next] == b'"';
            self.at += next + if is_end { 1 } else { 2 };
            if is_end {
                return;
            }
        }
        self.at = bytes.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_read_exactly_are_found() {
        for (text, found) in [
            (r#"{"a":1,"b":[-1.5e10,18446744073709551615,-9223372036854775808],"1e400":"1e400"}"#, None),
            (r#"{"a":"x\"1e400","b":18446744073709551616}"#, Some("18446744073709551616")),
            (r#"{"a":-9223372036854775809}"#, Some("-9223372036854775809")),
            (r#"[1,[-1E+400],1e400]"#, Some("-1E+400")),
            ("1e400", Some("1e400")),
            (r#""1e400"#, None),
            (r#""\"#, None),
            ("-", Some("-")),
        ] {
            assert_eq!(inexact(text), found, "{text}");
        }
    }

    #[test]
    fn numbers_beyond_every_double_are_read_as_the_largest_one() {
        let long = "9".repeat(400);
        for (text, expected) in [
            (r#"{"a":1e308,"b":"1e400"}"#.to_owned(), None),
            (
                r#"{"a":1e400,"b":[-1e400,2]}"#.to_owned(),
                Some(format!(r#"{{"a":{LARGEST},"b":[-{LARGEST},2]}}"#)),
            ),
            (long, Some(LARGEST.to_owned())),
        ] {
            assert_eq!(limited(&text), expected, "{text}");
        }
        assert_eq!(LARGEST.parse::<f64>(), Ok(f64::MAX));
    }

    #[test]
    fn a_value_is_decoded_beside_such_a_number() {
        let value: serde_json::Value = crate::wire::decode(r#"{"a":-1e400,"b":"\ud800"}"#).unwrap();
        assert_eq!(value, serde_json::json!({"a": -f64::MAX, "b": "\u{fffd}"}));
    }
}
