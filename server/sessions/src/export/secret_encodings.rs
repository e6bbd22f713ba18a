//! The encodings in which a secret can occur in a session.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The minimum length of a secret in bytes. A shorter secret could be an ordinary word.
const SHORTEST: usize = 8;

/// The unreserved characters of RFC 3986, which URLs do not encode.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The character set of JavaScript's `encodeURIComponent`.
const COMPONENT: &AsciiSet = &UNRESERVED.remove(b'!').remove(b'*').remove(b'\'').remove(b'(').remove(b')');
/// The character set of JavaScript's `encodeURI`.
const WHOLE: &AsciiSet = &COMPONENT
    .remove(b';')
    .remove(b',')
    .remove(b'/')
    .remove(b'?')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b'#');

/// Returns the secret and its encodings. Returns an empty list if the secret is too short. Credentials after
/// `Bearer ` or another scheme are treated as a separate secret.
pub(super) fn secret_encodings(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    let mut forms = Vec::new();
    let credentials = secret.split_once(' ').map(|(_, credentials)| credentials.trim());
    for plain in [Some(secret), credentials].into_iter().flatten().filter(|plain| plain.len() >= SHORTEST) {
        forms.push(plain.to_owned());
        in_urls(plain, &mut forms);
        in_json(plain, &mut forms);
        in_base64(plain.as_bytes(), &mut forms);
    }
    forms.sort();
    forms.dedup();
    forms
}

fn in_urls(plain: &str, forms: &mut Vec<String>) {
    for set in [UNRESERVED, COMPONENT, WHOLE, NON_ALPHANUMERIC] {
        let encoded = utf8_percent_encode(plain, set).to_string();
        forms.push(encoded.replace("%20", "+"));
        let lower: String = encoded
            .split('%')
            .enumerate()
            .map(|(number, piece)| match (number, piece.split_at_checked(2)) {
                (0, _) | (_, None) => piece.to_owned(),
                (_, Some((digits, rest))) => format!("%{}{rest}", digits.to_lowercase()),
            })
            .collect();
        forms.extend([encoded, lower]);
    }
}

/// Adds the text as escaped in JSON, and as escaped twice, because arguments of tools are JSON within JSON.
fn in_json(plain: &str, forms: &mut Vec<String>) {
    let escape = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = escape(plain);
    let ascii: String = once
        .chars()
        .map(|character| {
            let mut units = [0; 2];
            match character.is_ascii() {
                true => character.to_string(),
                false => {
                    character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                }
            }
        })
        .collect();
    let slashes = |text: &str| text.replace('/', "\\/");
    for form in [&once, &ascii, &slashes(&once), &slashes(&ascii)] {
        forms.extend([form.clone(), escape(form)]);
    }
}

/// Adds the base64 text for each of the three possible offsets of the secret in the encoded data. Characters
/// that depend on neighbouring bytes are left out.
fn in_base64(plain: &[u8], forms: &mut Vec<String>) {
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(plain);
        let from = (before * 8).div_ceil(6);
        let to = bytes.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&bytes)[from..to].to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    const SECRET: &str = "c4/n+r\"y 4711\u{e9}";

    #[track_caller]
    fn found(text: &str) {
        let forms = secret_encodings(SECRET);
        assert!(forms.iter().any(|form| text.contains(form.as_str())), "{text}: {forms:#?}");
    }

    #[test]
    fn fm_f118_every_form_is_found() {
        found(SECRET);
        found("x=c4%2Fn%2Br%22y%204711%C3%A9&");
        found("x=c4%2fn%2br%22y%204711%c3%a9&");
        found("x=c4%2Fn%2Br%22y+4711%C3%A9&");
        found("c4/n+r%22y%204711%C3%A9");
        let json = serde_json::json!({"a": SECRET}).to_string();
        found(&json);
        found(&serde_json::json!([json]).to_string());
        found(r#""c4\/n+r\"y 4711\u00e9""#);
        for before in ["", "u", "us", "user:", "other:x"] {
            for behind in ["", "\n", "xy", "xyz"] {
                found(&STANDARD.encode(format!("{before}{SECRET}{behind}")));
                found(&URL_SAFE_NO_PAD.encode(format!("{before}{SECRET}{behind}")));
            }
        }
    }

    #[test]
    fn short_texts_are_not_secrets() {
        assert_eq!(secret_encodings("ollama"), Vec::<String>::new());
        assert_eq!(
            secret_encodings("Basic auth"),
            secret_encodings("Basic auth "),
            "the scheme is no secret of its own"
        );
        assert!(!secret_encodings("Bearer canary-4711").contains(&"Bearer".to_owned()));
        assert!(secret_encodings("Bearer canary-4711").contains(&"canary-4711".to_owned()));
    }
}
