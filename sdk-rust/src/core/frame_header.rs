//! The type and the id of a line that cannot be read as a frame. Such a line is too long, nested too deeply,
//! cut off or malformed.

use std::borrow::Cow;

use crate::scan;

/// The readable members of a line, by which its receiver can be found.
#[derive(Debug, Default, PartialEq)]
pub struct FrameHeader<'a> {
    /// The id as JSON text.
    pub id: Option<&'a str>,
    /// The `type` of the frame.
    pub kind: Option<Cow<'a, str>>,
    /// The method, in JSON-RPC.
    pub method: Option<Cow<'a, str>>,
    /// `true` if the line begins with the object. If other text precedes the object, the line may only quote a
    /// frame.
    pub is_own: bool,
}

/// Reads the members of a header from the outermost object. Values are skipped without recursion, so any
/// nesting is permitted. Reading stops at the first structural error.
pub fn read_header(text: &str) -> FrameHeader<'_> {
    let mut glance = FrameHeader::default();
    let Some(start) = text.find('{') else { return glance };
    glance.is_own = text[..start].chars().all(|it| it.is_whitespace() || it == '\u{feff}');
    let mut rest = MemberReader { text, at: start + 1 };
    while let Some((name, value)) = rest.member() {
        match name {
            "\"id\"" => glance.id = Some(value),
            "\"type\"" => glance.kind = scan::string(value),
            "\"method\"" => glance.method = scan::string(value),
            _ => {}
        }
    }
    glance
}

struct MemberReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> MemberReader<'a> {
    /// Returns the next member whose value is complete.
    fn member(&mut self) -> Option<(&'a str, &'a str)> {
        self.skip_separators(b',');
        let name = self.value()?;
        self.skip_separators(b':');
        Some((name, self.value()?))
    }

    /// Skips white space and a separator.
    fn skip_separators(&mut self, separator: u8) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == separator) {
            self.at += 1;
        }
    }

    /// Consumes a value. Brackets are only counted: a bracket may be closed by one of another kind.
    fn value(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match *bytes.get(self.at)? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' | b',' if depth == 0 => break,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b':' | b' ' | b'\t' | b'\r' if depth == 0 => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        self.text.get(start..self.at).filter(|value| !value.is_empty())
    }

    fn string(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match *bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_id_are_read_across_other_members() {
        let deep = "[".repeat(100_000);
        let closed = "]".repeat(100_000);
        for value in ["1e", "{bad, [}]", r#""a \" b""#, "[1, {\"id\": 3}]", &format!("{deep}{closed}")] {
            let text = format!(r#"{{"data": {value}, "id": "a", "type" : "response"}} and more"#);
            let glance = read_header(&text);
            assert_eq!((glance.id, glance.kind.as_deref()), (Some(r#""a""#), Some("response")), "{text:.60}");
        }
        let cut = read_header(r#"{"id":7,"method":"x","result":{"data":"xxxx"#);
        assert_eq!((cut.id, cut.method.as_deref(), cut.kind), (Some("7"), Some("x"), None));
        for nothing in ["", "{", "{}", "{{{{", "no frame", "{\"id", "{\"id\":", "}{,,,:::"] {
            assert_eq!(read_header(nothing).id, None, "{nothing}");
        }
        // A truncated number may be the beginning of another one.
        assert_eq!(read_header(r#"{"jsonrpc":"2.0","id":1"#).id, None);
    }

    #[test]
    fn a_frame_behind_other_text_may_be_a_quotation() {
        let frame = r#"{"id":"a"}"#;
        for (before, is_own) in
            [("", true), (" \t", true), ("\u{feff}", true), ("got ", false), ("\"", false)]
        {
            let text = format!("{before}{frame}");
            assert_eq!(
                (read_header(&text).id, read_header(&text).is_own),
                (Some(r#""a""#), is_own),
                "{text}"
            );
        }
    }
}
