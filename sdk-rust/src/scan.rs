//! The skipping scanner: a few members of a JSON object, found without decoding the rest.
//!
//! Routing a frame needs its type, its id and little more, while most of its bytes are text that nobody on the
//! way reads. [`scan`] goes over the object once, hops from quote to quote through strings, and hands back the
//! raw JSON of the members asked for: top-level ones and, one level down, members of those. The whole text is
//! always read, because of two members with the same name the last one counts.
//!
//! What is checked is structure: one object and nothing after it, brackets that match, strings that end, a
//! bounded depth. Numbers and escapes are checked by whoever decodes them.
//!
//! ```
//! use agentese::scan::{Wanted, inner, member, scan};
//!
//! const WANTED: Wanted<2> = Wanted::new([member("type"), inner("delta", "text")]);
//! let found = scan(r#"{"delta":{"text":"hi","n":[1]},"type":"x"}"#, &WANTED).unwrap();
//! assert_eq!(found[0], Some(r#""x""#));
//! assert_eq!(found.string(1).as_deref(), Some("hi"));
//! ```

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use memchr::memchr;

/// How deep brackets may nest. Deeper text is refused.
pub const MAX_DEPTH: usize = 128;

/// A member to look for.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    outer: &'static str,
    inner: Option<&'static str>,
}

/// A member of the object itself.
pub const fn member(name: &'static str) -> Member {
    Member { outer: name, inner: None }
}

/// A member of the object that is the object's member `outer`.
pub const fn inner(outer: &'static str, name: &'static str) -> Member {
    Member { outer, inner: Some(name) }
}

/// The members to look for, in the order in which [`Found`] holds them.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<const N: usize> {
    members: [Member; N],
}

impl<const N: usize> Wanted<N> {
    /// At most 32 members; more do not compile.
    pub const fn new(members: [Member; N]) -> Self {
        const { assert!(N <= 32, "at most 32 members can be wanted") };
        Self { members }
    }
}

/// What was found: for each wanted member the raw JSON of its value, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found<'a, const N: usize> {
    values: [Option<&'a str>; N],
}

impl<'a, const N: usize> Found<'a, N> {
    /// The raw JSON of the value of the wanted member at `index`; `None` also where there is no such index.
    pub fn get(&self, index: usize) -> Option<&'a str> {
        self.values.get(index).copied().flatten()
    }

    /// The value as a string; `None` where it is absent, no string or no sound one.
    pub fn string(&self, index: usize) -> Option<Cow<'a, str>> {
        string(self.get(index)?)
    }

    /// The value as an integer from 0 on; `None` where it is absent or anything else.
    pub fn unsigned(&self, index: usize) -> Option<u64> {
        unsigned(self.get(index)?)
    }

    /// The value as a boolean; `None` where it is absent or anything else.
    pub fn boolean(&self, index: usize) -> Option<bool> {
        boolean(self.get(index)?)
    }
}

impl<'a, const N: usize> Index<usize> for Found<'a, N> {
    type Output = Option<&'a str>;

    fn index(&self, index: usize) -> &Self::Output {
        &self.values[index]
    }
}

/// What a text is instead of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It begins like an array.
    Array,
    /// It begins like a string.
    String,
    /// It begins like a number.
    Number,
    /// It is `true` or `false`.
    Boolean,
    /// It is `null`.
    Null,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        })
    }
}

/// Why a text is not one JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// There is nothing but white space.
    #[error("the text is blank")]
    Blank,
    /// The text is JSON of another kind, as far as its first character tells.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// What it is instead.
        found: Kind,
    },
    /// Brackets nest deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {limit} levels at byte {offset}")]
    TooDeep {
        /// The limit, in levels.
        limit: usize,
        /// The bracket that was one too many, in bytes from the start of the text.
        offset: usize,
    },
    /// Something stands where it cannot.
    #[error("expected {expected} at byte {offset}")]
    Malformed {
        /// What should have come.
        expected: &'static str,
        /// Where, in bytes from the start of the text.
        offset: usize,
    },
    /// The text ends before its object does.
    #[error("the object does not end")]
    Unfinished,
    /// Something follows the object.
    #[error("text after the object at byte {offset}")]
    TrailingText {
        /// Where, in bytes from the start of the text.
        offset: usize,
    },
}

/// Looks for the wanted members of the object that `text` is.
///
/// Fails where the text is not one object and nothing else. Runs in one pass with constant memory, whatever
/// the nesting.
pub fn scan<'a, const N: usize>(text: &'a str, wanted: &Wanted<N>) -> Result<Found<'a, N>, ScanError> {
    let mut found = Found { values: [None; N] };
    let mut cursor = Cursor { text, bytes: text.as_bytes(), at: 0 };
    cursor.open()?;
    cursor.members(|cursor, key| {
        let mut whole = 0u32;
        let mut parts = 0u32;
        for (index, member) in wanted.members.iter().enumerate() {
            if key.is(member.outer) {
                // A second member of this name replaces the first, its parts included.
                found.values[index] = None;
                if member.inner.is_none() { whole |= 1 << index } else { parts |= 1 << index }
            }
        }
        let start = cursor.at;
        if parts != 0 && cursor.bytes[start] == b'{' {
            cursor.at += 1;
            cursor.members(|cursor, key| {
                let start = cursor.at;
                cursor.skip_value(2)?;
                for index in bits(parts) {
                    if wanted.members[index].inner.is_some_and(|name| key.is(name)) {
                        found.values[index] = cursor.text.get(start..cursor.at);
                    }
                }
                Ok(())
            })?;
        } else {
            cursor.skip_value(1)?;
        }
        for index in bits(whole) {
            found.values[index] = cursor.text.get(start..cursor.at);
        }
        Ok(())
    })?;
    cursor.close()?;
    Ok(found)
}

/// The positions of the bits that are set.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (index < 32).then_some(index as usize)
    })
}

/// A member's name as it stands in the text, without its quotes.
struct Key<'a>(&'a str);

impl Key<'_> {
    #[inline]
    fn is(&self, name: &str) -> bool {
        self.0 == name || (self.0.len() > name.len() && self.is_escaped(name))
    }

    /// An escape is longer than what it stands for, so only a longer text can be the same name.
    #[cold]
    fn is_escaped(&self, name: &str) -> bool {
        memchr(b'\\', self.0.as_bytes()).is_some() && unescape(self.0).is_some_and(|key| key == name)
    }
}

struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn open(&mut self) -> Result<(), ScanError> {
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

    fn rest_is(&self, word: &str) -> bool {
        self.bytes[self.at..].trim_ascii_end() == word.as_bytes()
    }

    fn close(&mut self) -> Result<(), ScanError> {
        self.white();
        if self.at == self.bytes.len() { Ok(()) } else { Err(ScanError::TrailingText { offset: self.at }) }
    }

    /// Goes over the members of an object whose bracket has been taken, up to and with the closing one.
    /// `on_value` stands at a value's first byte and takes the value.
    #[inline(always)]
    fn members(
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
            self.string()?;
            let key = Key(self.text.get(start..self.at - 1).unwrap_or_default());
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
    fn skip_value(&mut self, depth: usize) -> Result<(), ScanError> {
        match self.bytes[self.at] {
            b'"' => self.string(),
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

    /// Takes a string whose opening quote is at hand, with both quotes.
    ///
    /// It hops from quote to quote and asks of each whether it is escaped, that is whether an odd number of
    /// backslashes stands before it. That is linear: the backslashes counted for one quote lie after the quote
    /// before it. Looking at each backslash instead costs three times as much in text full of `\n`.
    #[inline]
    fn string(&mut self) -> Result<(), ScanError> {
        let start = self.at + 1;
        let mut from = start;
        loop {
            let Some(quote) = self.bytes.get(from..).and_then(find_quote) else {
                return Err(ScanError::Unfinished);
            };
            let at = from + quote;
            if self.bytes[at - 1] != b'\\' || !escaped(&self.bytes[start..at]) {
                self.at = at + 1;
                return Ok(());
            }
            from = at + 1;
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

/// Where the first quote is.
#[inline]
fn find_quote(bytes: &[u8]) -> Option<usize> {
    memchr(b'"', bytes)
}

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

/// The string that the raw JSON of a value is; `None` where it is no string or holds an unknown escape.
///
/// Borrows where there is no escape. A lone surrogate escape becomes U+FFFD: agents send such halves where a
/// model's text was cut.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    unescape(raw.strip_prefix('"')?.strip_suffix('"')?)
}

/// The boolean that the raw JSON of a value is.
pub fn boolean(raw: &str) -> Option<bool> {
    match raw {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The integer from 0 on that the raw JSON of a value is; `None` for fractions, exponents and what does not fit.
pub fn unsigned(raw: &str) -> Option<u64> {
    let digits = raw.bytes().all(|byte| byte.is_ascii_digit()) && (raw.len() == 1 || !raw.starts_with('0'));
    if digits { raw.parse().ok() } else { None }
}

/// Whether the raw JSON of a value is `null`.
pub fn is_null(raw: &str) -> bool {
    raw == "null"
}

fn unescape(text: &str) -> Option<Cow<'_, str>> {
    let Some(first) = memchr(b'\\', text.as_bytes()) else { return Some(Cow::Borrowed(text)) };
    let mut plain = String::with_capacity(text.len());
    plain.push_str(text.get(..first)?);
    let mut rest = text.get(first..)?;
    while let Some(after) = rest.strip_prefix('\\') {
        let mut characters = after.chars();
        let (character, used) = match characters.next()? {
            '"' => ('"', 1),
            '\\' => ('\\', 1),
            '/' => ('/', 1),
            'b' => ('\u{8}', 1),
            'f' => ('\u{c}', 1),
            'n' => ('\n', 1),
            'r' => ('\r', 1),
            't' => ('\t', 1),
            'u' => unescape_unicode(characters.as_str())?,
            _ => return None,
        };
        plain.push(character);
        let next = after.get(used..)?;
        let until = memchr(b'\\', next.as_bytes()).unwrap_or(next.len());
        plain.push_str(next.get(..until)?);
        rest = next.get(until..)?;
    }
    Some(Cow::Owned(plain))
}

/// The character after `\u`, and how many bytes after the backslash it took.
fn unescape_unicode(text: &str) -> Option<(char, usize)> {
    let first = hex(text)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 5));
    }
    let second = text.get(4..).and_then(|next| next.strip_prefix("\\u")).and_then(hex);
    match (first, second) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Some((char::from_u32(code)?, 11))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 5)),
    }
}

fn hex(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}
