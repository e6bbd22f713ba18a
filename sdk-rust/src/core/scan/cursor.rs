//! The structure of JSON text: brackets, strings and what stands between them.

use memchr::memchr;

use super::blocks::{Hop, blocks, first};
use super::value::unescape;
use super::{Kind, MAX_DEPTH, ScanError};

/// A member's name as it stands in the text, without its quotes.
pub(super) struct Key<'a> {
    text: &'a str,
    /// Looked at once, whatever it is compared with.
    escaped: bool,
}

impl<'a> Key<'a> {
    pub(super) fn new(raw: &'a str) -> Self {
        Self { text: raw, escaped: raw.as_bytes().contains(&b'\\') }
    }

    /// One that has no escapes.
    #[inline]
    fn plain(text: &'a str) -> Self {
        Self { text, escaped: false }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Whether it has escapes: then its length says nothing.
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

/// A place in a text, moved over one piece of structure at a time.
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0 }
    }

    /// Takes the bracket with which an object begins.
    pub(super) fn open(&mut self) -> Result<(), ScanError> {
        self.white();
        let found = match self.bytes.get(self.at) {
            Some(b'{') => {
                self.at += 1;
                return Ok(());
            }
            None => return Err(ScanError::Blank),
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b't') if self.rest_is("true") => Kind::Boolean,
            Some(b'f') if self.rest_is("false") => Kind::Boolean,
            Some(b'n') if self.rest_is("null") => Kind::Null,
            Some(_) => return Err(self.expected("an object")),
        };
        Err(ScanError::NotAnObject { found })
    }

    /// Takes the bracket with which an array begins.
    pub(super) fn open_array(&mut self) -> Result<(), ScanError> {
        if self.next_byte()? != b'[' {
            return Err(self.expected("an array"));
        }
        self.at += 1;
        Ok(())
    }

    /// Goes over the items of an array whose bracket has been taken, up to and with the closing one. `on_item`
    /// stands at an item's first byte and takes the item.
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

    /// Makes sure that nothing follows.
    pub(super) fn close(&mut self) -> Result<(), ScanError> {
        self.white();
        if self.at == self.bytes.len() { Ok(()) } else { Err(ScanError::TrailingText { offset: self.at }) }
    }

    /// Goes over the members of an object whose bracket has been taken, up to and with the closing one.
    /// `on_value` stands at a value's first byte and takes the value.
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

    /// Takes one value that lies inside `depth` brackets.
    #[inline]
    pub(super) fn skip_value(&mut self, depth: usize) -> Result<(), ScanError> {
        match self.bytes[self.at] {
            b'"' => self.string().map(drop),
            b'{' | b'[' => self.skip_nested(depth),
            _ => self.scalar(),
        }
    }

    /// Takes a number, `true`, `false` or `null`, whatever its characters.
    fn scalar(&mut self) -> Result<(), ScanError> {
        let start = self.at;
        while let Some(byte) = self.bytes.get(self.at)
            && CLASS[usize::from(*byte)] == OTHER
        {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a value")) } else { Ok(()) }
    }

    /// Takes an object or an array that lies inside `depth` brackets, checking only that brackets match.
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

    /// Takes a string whose opening quote is at hand, with both quotes. Says whether it is known to have no escapes.
    ///
    /// It hops from quote to quote and asks of each whether it is escaped, that is whether an odd number of
    /// backslashes stands before it. That is linear: the backslashes counted for one quote lie after the quote
    /// before it. Looking at each backslash instead costs three times as much in text full of `\n`. In text
    /// full of escaped quotes hops are too short to pay, so after a short one whole blocks are looked at.
    #[inline]
    fn string(&mut self) -> Result<bool, ScanError> {
        let start = self.at + 1;
        // Names and tags are short: looking at their bytes is faster than setting out for a search.
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
            match blocks(&self.bytes[at + 1..]) {
                Hop::End(offset) => {
                    self.at = at + 1 + offset + 1;
                    return Ok(false);
                }
                Hop::Over(offset) => from = at + 1 + offset,
            }
        }
    }

    #[inline]
    fn white(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is not white space, not taken.
    #[inline]
    fn next_byte(&mut self) -> Result<u8, ScanError> {
        self.white();
        self.bytes.get(self.at).copied().ok_or(ScanError::Unfinished)
    }

    fn expected(&self, expected: &'static str) -> ScanError {
        ScanError::Malformed { expected, offset: self.at }
    }
}

/// Whether what follows `before` is escaped by it: it ends with an odd number of backslashes.
#[inline]
fn escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// After a longer hop, in bytes, hopping on is the faster way.
const SHORT_HOP: usize = 24;

const OTHER: u8 = 0;
const QUOTE: u8 = 1;
const OPEN: u8 = 2;
const CLOSE: u8 = 3;
const BETWEEN: u8 = 4;

/// What a byte outside of strings means.
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

    /// One by one, as one would explain it.
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
