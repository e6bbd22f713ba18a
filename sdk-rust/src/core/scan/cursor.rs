//! Reading of the structure of JSON text: brackets, strings and the other characters.

use memchr::memchr;

use super::blocks::{ScanStep, first, scan_blocks};
use super::error::{JsonKind, MAX_DEPTH, ScanError};
use super::value::unescape;

/// A member's name as in the text, without its quotes.
pub(super) struct Key<'a> {
    text: &'a str,
    /// `true` if the name has escapes; computed once for all comparisons.
    escaped: bool,
}

impl<'a> Key<'a> {
    pub(super) fn new(raw: &'a str) -> Self {
        Self { text: raw, escaped: raw.as_bytes().contains(&b'\\') }
    }

    /// Creates a name without escapes.
    #[inline]
    fn plain(text: &'a str) -> Self {
        Self { text, escaped: false }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns `true` if the name has escapes. Its length in the text then differs from that of the decoded
    /// name.
    #[inline]
    pub(super) fn is_escaped(&self) -> bool {
        self.escaped
    }

    #[inline]
    pub(super) fn is(&self, name: &str) -> bool {
        self.text == name || (self.escaped && self.is_with_escapes(name))
    }

    #[cold]
    fn is_with_escapes(&self, name: &str) -> bool {
        unescape(self.text).is_some_and(|key| key == name)
    }
}

/// A position in a text. Each method consumes one element of its structure.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0 }
    }

    /// Consumes the opening bracket of an object.
    pub(super) fn open(&mut self) -> Result<(), ScanError> {
        self.skip_whitespace();
        let found = match self.bytes.get(self.at) {
            Some(b'{') => {
                self.at += 1;
                return Ok(());
            }
            None => return Err(ScanError::Blank),
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b'-' | b'0'..=b'9') => JsonKind::Number,
            Some(b't') if self.rest_is("true") => JsonKind::Boolean,
            Some(b'f') if self.rest_is("false") => JsonKind::Boolean,
            Some(b'n') if self.rest_is("null") => JsonKind::Null,
            Some(_) => return Err(self.expected("an object")),
        };
        Err(ScanError::NotAnObject { found })
    }

    /// Consumes the opening bracket of an array.
    pub(super) fn open_array(&mut self) -> Result<(), ScanError> {
        if self.next_byte()? != b'[' {
            return Err(self.expected("an array"));
        }
        self.at += 1;
        Ok(())
    }

    /// Iterates over the items of an array after its opening bracket, and consumes the closing bracket.
    /// `on_item` is called at the first byte of an item and must consume the item.
    pub(super) fn items(
        &mut self,
        mut on_item: impl FnMut(&mut Self) -> Result<(), ScanError>,
    ) -> Result<(), ScanError> {
        if self.next_byte()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.next_byte()?;
            on_item(self)?;
            match self.next_byte()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.expected("`,` or `]`")),
            }
        }
    }

    fn rest_is(&self, word: &str) -> bool {
        self.bytes[self.at..].trim_ascii_end() == word.as_bytes()
    }

    /// Fails if anything but white space follows.
    pub(super) fn close(&mut self) -> Result<(), ScanError> {
        self.skip_whitespace();
        if self.at == self.bytes.len() { Ok(()) } else { Err(ScanError::TrailingText { offset: self.at }) }
    }

    /// Iterates over the members of an object after its opening bracket, and consumes the closing bracket.
    /// `on_value` is called at the first byte of a value and must consume the value.
    #[inline(always)]
    pub(super) fn members(
        &mut self,
        mut on_value: impl FnMut(&mut Self, Key<'a>) -> Result<(), ScanError>,
    ) -> Result<(), ScanError> {
        if self.next_byte()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.next_byte()? != b'"' {
                return Err(self.expected("a member's name"));
            }
            let start = self.at + 1;
            let is_plain = self.string()?;
            let name = self.text.get(start..self.at - 1).unwrap_or_default();
            let key = if is_plain { Key::plain(name) } else { Key::new(name) };
            if self.next_byte()? != b':' {
                return Err(self.expected("`:`"));
            }
            self.at += 1;
            self.next_byte()?;
            on_value(self, key)?;
            match self.next_byte()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.expected("`,` or `}`")),
            }
        }
    }

    /// Consumes one value, which is inside `depth` open brackets.
    #[inline]
    pub(super) fn skip_value(&mut self, depth: usize) -> Result<(), ScanError> {
        match self.bytes[self.at] {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_nested(depth),
            _ => self.scalar(),
        }
    }

    /// Consumes a number, `true`, `false` or `null`. Its characters are not checked.
    fn scalar(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        while let Some(byte) = self.bytes.get(self.at)
            && CLASS[usize::from(*byte)] == OTHER
        {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a value")) } else { Ok(()) }
    }

    /// Consumes an object or an array at a nesting of `depth` brackets, checking only that brackets match.
    fn skip_nested(&mut self, depth: usize) -> Result<(), ScanError> {
        // One bit for each open bracket, the innermost lowest: 1 for an object, 0 for an array.
        let mut kinds = 0u128;
        let mut open = depth;
        loop {
            let Some(&byte) = self.bytes.get(self.at) else { return Err(ScanError::Unfinished) };
            match CLASS[usize::from(byte)] {
                QUOTE => {
                    self.string()?;
                    continue;
                }
                OPEN => {
                    if open == MAX_DEPTH {
                        return Err(ScanError::TooDeep { limit: MAX_DEPTH, offset: self.at });
                    }
                    open += 1;
                    kinds = kinds << 1 | u128::from(byte == b'{');
                }
                CLOSE => {
                    if (kinds & 1 == 1) != (byte == b'}') {
                        return Err(self.expected("the matching bracket"));
                    }
                    open -= 1;
                    kinds >>= 1;
                    if open == depth {
                        self.at += 1;
                        return Ok(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Consumes a string with both quotes, starting at the opening quote. Returns `true` if the string is known
    /// to have no escapes.
    ///
    /// The search hops from quote to quote and checks each quote for an escape: an odd number of preceding
    /// backslashes. The total time is linear, because only backslashes after the previous quote are counted. A
    /// check of each backslash would take three times as long in text full of `\n`. In text full of escaped
    /// quotes, hops are short and therefore slow. After a short hop, the search examines whole blocks instead.
    #[inline]
    fn string(&mut self) -> Result<bool, ScanError> {
        let start = self.at + 1;
        // Names and tags are short: a direct look at their bytes is faster than the start of a search.
        let mut from = match first(&self.bytes[start..]) {
            Ok(offset) if self.bytes[start + offset] == b'"' => {
                self.at = start + offset + 1;
                return Ok(true);
            }
            Ok(offset) | Err(offset) => start + offset,
        };
        loop {
            let Some(quote) = self.bytes.get(from..).and_then(|rest| memchr(b'"', rest)) else {
                return Err(ScanError::Unfinished);
            };
            let at = from + quote;
            if self.bytes[at - 1] != b'\\' || !escaped(&self.bytes[start..at]) {
                self.at = at + 1;
                return Ok(false);
            }
            if quote > SHORT_HOP {
                from = at + 1;
                continue;
            }
            match scan_blocks(&self.bytes[at + 1..]) {
                ScanStep::End(offset) => {
                    self.at = at + 1 + offset + 1;
                    return Ok(false);
                }
                ScanStep::Continue(offset) => from = at + 1 + offset,
            }
        }
    }

    #[inline]
    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Returns the next byte that is not white space, without consuming it.
    #[inline]
    fn next_byte(&mut self) -> Result<u8, ScanError> {
        self.skip_whitespace();
        self.bytes.get(self.at).copied().ok_or(ScanError::Unfinished)
    }

    fn expected(&self, expected: &'static str) -> ScanError {
        ScanError::Malformed { expected, offset: self.at }
    }
}

/// Returns `true` if the byte after `before` is escaped, because `before` ends with an odd number of
/// backslashes.
#[inline]
fn escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// Length in bytes of a short hop. After a longer hop, more hops are faster than a search in blocks.
const SHORT_HOP: usize = 24;

const OTHER: u8 = 0;
const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const BETWEEN: u8 = 4;

/// The structural class of a byte outside of strings.
const CLASS: [u8; 256] = {
    let mut class = [OTHER; 256];
    class[b'"' as usize] = QUOTE;
    class[b'{' as usize] = OPEN;
    class[b'[' as usize] = OPEN;
    class[b'}' as usize] = CLOSE;
    class[b']' as usize] = CLOSE;
    class[b',' as usize] = BETWEEN;
    class[b':' as usize] = BETWEEN;
    class[b' ' as usize] = BETWEEN;
    class[b'\t' as usize] = BETWEEN;
    class[b'\r' as usize] = BETWEEN;
    class[b'\n' as usize] = BETWEEN;
    class
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference implementation, one byte at a time.
    fn string_end(text: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            match text.get(at)? {
                b'"' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn strings_end_where_they_end(text in "[\"\\\\a]{0,300}|(\\\\\"|\\\\\\\\|a){0,200}\"?") {
            let mut quoted = vec![b'"'];
            quoted.extend_from_slice(text.as_bytes());
            let mut cursor = Cursor { text: "", bytes: &quoted, at: 0 };
            let end = cursor.string().ok().map(|_| cursor.at - 2);
            proptest::prop_assert_eq!(end, string_end(text.as_bytes()));
        }
    }
}
