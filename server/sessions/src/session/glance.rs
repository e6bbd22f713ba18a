//! A line with a message, taken in in one pass: where it stands, who speaks, and whether its message has the declared shape.
//!
//! Nothing is decoded and nothing copied. Whatever is out of the ordinary (another type, members twice, escapes in names,
//! numbers with an exponent, half characters) makes the line a case for [`Members`](super::members::Members), which reads
//! everything; so this need not know what such a line means.

use std::ops::Range;

use memchr::memchr2;

use super::body::Role;
use super::foreign::{self, Shape};

/// How deep values may nest here.
const DEPTH: usize = 64;

/// The most digits that every kind of number holds exactly.
const DIGITS: usize = 15;

/// What a line with a message says.
#[derive(Debug, PartialEq)]
pub(super) struct Glance<'a> {
    /// Its identifier, never empty.
    pub id: &'a str,
    /// The entry that it follows; none where it says that it follows none.
    pub parent_id: Option<&'a str>,
    /// When it was written, as text.
    pub timestamp: &'a str,
    /// Who speaks.
    pub role: Role,
    /// Where the message stands in the line.
    pub message: Range<usize>,
    /// Whether the message is known to have the declared shape. Of others only decoding tells.
    pub fits: bool,
}

/// Looks at a line. None where it is out of the ordinary, damaged lines among them.
pub(super) fn glance(line: &str) -> Option<Glance<'_>> {
    if !is_plain(line.as_bytes()) {
        return None;
    }
    let mut walk = Walk { text: line, bytes: line.as_bytes(), at: 0, fits: true };
    let (mut kind, mut id, mut parent_id, mut timestamp, mut message) = (None, None, None, None, None);
    walk.members(|walk, name| {
        let before = walk.at;
        // A second member of the name ends it.
        let is_new = match name {
            "type" => kind.replace(walk.plain_string()?).is_none(),
            "id" => id.replace(walk.plain_string()?).is_none(),
            "parentId" if walk.peek()? == b'n' => {
                walk.word("null")?;
                parent_id.replace(None).is_none()
            }
            "parentId" => parent_id.replace(Some(walk.plain_string()?)).is_none(),
            "timestamp" => timestamp.replace(walk.plain_string()?).is_none(),
            "message" => {
                let role = walk.message()?;
                message.replace((role, before..walk.at)).is_none()
            }
            _ => {
                walk.value(1)?;
                true
            }
        };
        is_new.then_some(())
    })?;
    let (role, message) = message?;
    let (id, parent_id) = (id?, parent_id?);
    let is_whole = walk.at == line.len()
        && kind? == "message"
        && !id.is_empty()
        && parent_id.is_none_or(|parent| !parent.is_empty());
    let timestamp = timestamp?;
    is_whole.then_some(Glance { id, parent_id, timestamp, role, message, fits: walk.fits })
}

/// Whether a line has no control characters, which JSON has only between values.
fn is_plain(bytes: &[u8]) -> bool {
    let is_plain = |bytes: &[u8]| bytes.iter().fold(true, |plain, byte| plain & (*byte >= b' '));
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().all(|block| is_plain(block)) && is_plain(rest)
}

/// Where the first quote or backslash of eight bytes is.
fn in_word(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(word);
    // The lowest bit that is set is of a byte that is zero; those above it may be of others.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// A place in a line. Every step is none where something unusual stands there.
struct Walk<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    fits: bool,
}

impl<'a> Walk<'a> {
    /// The next byte that is no blank.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        while *self.bytes.get(self.at)? == b' ' {
            self.at += 1;
        }
        Some(self.bytes[self.at])
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.peek()?;
        self.bytes[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// A string; its text, with its escapes, and whether it has any.
    #[inline]
    fn string(&mut self) -> Option<(&'a str, bool)> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = &self.bytes[self.at..];
            // Names are short: looking at a word is faster than setting out for a search.
            let offset = match rest.first_chunk().and_then(|word| in_word(*word)) {
                Some(offset) => offset,
                None => memchr2(b'"', b'\\', rest)?,
            };
            self.at += offset + 1;
            if self.bytes[self.at - 1] == b'"' {
                return Some((self.text.get(start..self.at - 1)?, escaped));
            }
            escaped = true;
            match self.bytes.get(self.at)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
                b'u' => {
                    let digits = self.text.get(self.at + 1..self.at + 5)?;
                    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                    let unit = u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
                    // Halves of characters may lack the other one.
                    if (0xd800..0xe000).contains(&unit) {
                        return None;
                    }
                    self.at += 5;
                }
                _ => return None,
            }
        }
    }

    /// A string without escapes.
    fn plain_string(&mut self) -> Option<&'a str> {
        self.string().filter(|(_, escaped)| !escaped).map(|(text, _)| text)
    }

    /// The members of an object; `each` takes the value.
    #[inline]
    fn members(&mut self, mut each: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let name = self.plain_string()?;
            self.take(b':')?;
            each(self, name)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// The items of an array; `each` takes one.
    fn items(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A number; whether it is an integer.
    fn number(&mut self) -> Option<bool> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        let whole = self.digits()?;
        if whole > 1 && self.bytes[self.at - whole] == b'0' {
            return None;
        }
        let is_integer = self.bytes.get(self.at) != Some(&b'.');
        let part = if is_integer {
            0
        } else {
            self.at += 1;
            self.digits()?
        };
        let ends = !matches!(self.bytes.get(self.at), Some(b'e' | b'E'));
        (ends && whole + part <= DIGITS).then_some(is_integer)
    }

    /// How many digits come, at least one.
    fn digits(&mut self) -> Option<usize> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    /// Any value.
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.members(|walk, _| walk.value(depth + 1)),
            b'[' => self.items(|walk| walk.value(depth + 1)),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(drop),
        }
    }

    /// An object whose first member says what it is; gives that, and the members that it should have with it.
    fn tagged(&mut self, tag: &str, known: fn(&str) -> Option<foreign::Members>) -> Option<&'a str> {
        let mut kind = None;
        // Which of the members came, by their place in the table.
        let mut came = 0u32;
        let mut members: foreign::Members = &[];
        self.members(|walk, name| {
            let Some(kind) = kind else {
                // Of another order this makes nothing.
                let told = walk.plain_string().filter(|_| name == tag)?;
                kind = Some(told);
                match known(told) {
                    Some(known) => members = known,
                    None => walk.fits = false,
                }
                return Some(());
            };
            walk.member(name, kind, members, &mut came)
        })?;
        self.fits &= has_all(members, came);
        kind
    }

    fn member(&mut self, name: &str, kind: &str, members: foreign::Members, came: &mut u32) -> Option<()> {
        match members.iter().position(|(known, _)| *known == name) {
            Some(at) => {
                if *came & (1 << at) != 0 {
                    self.fits = false;
                }
                *came |= 1 << at;
                self.shaped(members[at].1)
            }
            None => {
                match foreign::BESIDES.iter().find(|(of, besides, _)| *of == kind && *besides == name) {
                    Some((_, _, Some(shape))) => return self.shaped(*shape),
                    Some((_, _, None)) => {}
                    None => self.fits = false,
                }
                self.value(2)
            }
        }
    }

    fn message(&mut self) -> Option<Role> {
        let role = self.tagged("role", foreign::members_of_message)?;
        Some(match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::Other,
        })
    }

    fn blocks(&mut self) -> Option<()> {
        self.items(|walk| match walk.peek()? {
            b'{' => walk.tagged("type", foreign::members_of_block).map(drop),
            _ => None,
        })
    }

    /// A value that should have that shape.
    fn shaped(&mut self, shape: Shape) -> Option<()> {
        let fits = match (shape, self.peek()?) {
            (Shape::Text | Shape::OptionalText | Shape::Content, b'"') => return self.string().map(drop),
            (Shape::Content | Shape::Blocks, b'[') => return self.blocks(),
            (Shape::Count | Shape::OptionalCount | Shape::OptionalInteger | Shape::Time, b'0'..=b'9') => {
                self.number()?
            }
            (Shape::Number, b'-' | b'0'..=b'9') => return self.number().map(drop),
            (Shape::Flag | Shape::OptionalFlag, b't' | b'f') | (Shape::Arguments, b'{') => {
                return self.value(2);
            }
            (Shape::StopReason, b'"') => foreign::is_stop_reason(self.string()?.0),
            (Shape::Of(members), b'{') => {
                let mut came = 0;
                self.members(|walk, name| walk.member(name, "", members, &mut came))?;
                has_all(members, came)
            }
            _ => {
                self.value(2)?;
                false
            }
        };
        self.fits &= fits;
        Some(())
    }
}

/// Whether all members came that are not optional.
fn has_all(members: foreign::Members, came: u32) -> bool {
    members.iter().enumerate().all(|(at, (_, shape))| shape.is_optional() || came & (1 << at) != 0)
}

#[cfg(test)]
mod tests;
