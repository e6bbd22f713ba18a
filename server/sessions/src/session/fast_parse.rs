//! Fast parsing of a line with a message, in one pass. It finds the position and role of the message, and checks the
//! declared shape.
//!
//! Nothing is decoded or copied. The parse stops at anything unusual: another entry type, repeated members, escapes in
//! names, exponents, lone surrogates. Then [`Members`](super::members::Members) parses the whole line instead.

use std::ops::Range;

use memchr::memchr2;

use super::body::Role;
use super::lenient_decode::{self, Shape};

/// Maximum nesting depth of values.
const DEPTH: usize = 64;

/// Maximum number of digits of a number. Every number type represents such numbers exactly.
const DIGITS: usize = 15;

/// The result of the fast parse of a line with a message.
#[derive(Debug, PartialEq)]
pub(super) struct EntryPreview<'a> {
    /// Identifier of the entry, never empty.
    pub id: &'a str,
    /// Id of the parent; `None` if `parentId` is null.
    pub parent_id: Option<&'a str>,
    /// Time of the entry, as text.
    pub timestamp: &'a str,
    /// Author of the message.
    pub role: Role,
    /// Range of the message in the line.
    pub message: Range<usize>,
    /// `true` if the message has the declared shape. If `false`, decoding must show if it has.
    pub has_declared_shape: bool,
}

/// Parses a line. Returns `None` if the line is unusual or damaged.
pub(super) fn fast_parse(line: &str) -> Option<EntryPreview<'_>> {
    if !is_plain(line.as_bytes()) {
        return None;
    }
    let mut scanner = LineScanner { text: line, bytes: line.as_bytes(), at: 0, has_declared_shape: true };
    let (mut kind, mut id, mut parent_id, mut timestamp, mut message) = (None, None, None, None, None);
    scanner.members(|scanner, name| {
        let before = scanner.at;
        // The parse stops at a second member of the same name.
        let is_new = match name {
            "type" => kind.replace(scanner.plain_string()?).is_none(),
            "id" => id.replace(scanner.plain_string()?).is_none(),
            "parentId" if scanner.peek()? == b'n' => {
                scanner.literal("null")?;
                parent_id.replace(None).is_none()
            }
            "parentId" => parent_id.replace(Some(scanner.plain_string()?)).is_none(),
            "timestamp" => timestamp.replace(scanner.plain_string()?).is_none(),
            "message" => {
                let role = scanner.message()?;
                message.replace((role, before..scanner.at)).is_none()
            }
            _ => {
                scanner.value(1)?;
                true
            }
        };
        is_new.then_some(())
    })?;
    let (role, message) = message?;
    let (id, parent_id) = (id?, parent_id?);
    let is_whole = scanner.at == line.len()
        && kind? == "message"
        && !id.is_empty()
        && parent_id.is_none_or(|parent| !parent.is_empty());
    let timestamp = timestamp?;
    is_whole.then_some(EntryPreview {
        id,
        parent_id,
        timestamp,
        role,
        message,
        has_declared_shape: scanner.has_declared_shape,
    })
}

/// Returns true if a line has no control characters. JSON permits them only between values.
fn is_plain(bytes: &[u8]) -> bool {
    let is_plain = |bytes: &[u8]| bytes.iter().fold(true, |plain, byte| plain & (*byte >= b' '));
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().all(|block| is_plain(block)) && is_plain(rest)
}

/// Returns the position of the first quote or backslash in eight bytes.
fn find_in_word(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(word);
    // The lowest set bit belongs to a zero byte; higher bits may belong to other bytes.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
    (found != 0).then(|| found.trailing_zeros() as usize / 8)
}

/// A parser of a line. Each method returns `None` at unusual text.
struct LineScanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    has_declared_shape: bool,
}

impl<'a> LineScanner<'a> {
    /// Skips spaces and returns the next byte without consuming it.
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

    fn literal(&mut self, word: &str) -> Option<()> {
        self.peek()?;
        self.bytes[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// Parses a string. Returns its text as written, and true if the text contains escapes.
    #[inline]
    fn string(&mut self) -> Option<(&'a str, bool)> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = &self.bytes[self.at..];
            // Names are short: a check of one word is faster than the start of a search.
            let offset = match rest.first_chunk().and_then(|word| find_in_word(*word)) {
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
                    // A surrogate may lack its other half.
                    if (0xd800..0xe000).contains(&unit) {
                        return None;
                    }
                    self.at += 5;
                }
                _ => return None,
            }
        }
    }

    /// Parses a string that contains no escapes.
    fn plain_string(&mut self) -> Option<&'a str> {
        self.string().filter(|(_, escaped)| !escaped).map(|(text, _)| text)
    }

    /// Parses an object; `each` parses the value of each member.
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

    /// Parses an array; `each` parses each item.
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

    /// Parses a number. Returns true if it is an integer.
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

    /// Parses one or more digits. Returns their count.
    fn digits(&mut self) -> Option<usize> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    /// Reads any value.
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.members(|scanner, _| scanner.value(depth + 1)),
            b'[' => self.items(|scanner| scanner.value(depth + 1)),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => self.number().map(drop),
        }
    }

    /// Parses an object whose first member is `tag`, and returns the value of this member. `known` returns the expected
    /// members for this value.
    fn tagged(
        &mut self,
        tag: &str,
        known: fn(&str) -> Option<lenient_decode::MemberShapes>,
    ) -> Option<&'a str> {
        let mut kind = None;
        // Bits of the members that were read, by their positions in the table.
        let mut came = 0u32;
        let mut members: lenient_decode::MemberShapes = &[];
        self.members(|scanner, name| {
            let Some(kind) = kind else {
                // The parse stops if the tag is not the first member.
                let value = scanner.plain_string().filter(|_| name == tag)?;
                kind = Some(value);
                match known(value) {
                    Some(known) => members = known,
                    None => scanner.has_declared_shape = false,
                }
                return Some(());
            };
            scanner.member(name, kind, members, &mut came)
        })?;
        self.has_declared_shape &= has_required(members, came);
        kind
    }

    fn member(
        &mut self,
        name: &str,
        kind: &str,
        members: lenient_decode::MemberShapes,
        came: &mut u32,
    ) -> Option<()> {
        match members.iter().position(|(known, _)| *known == name) {
            Some(at) => {
                if *came & (1 << at) != 0 {
                    self.has_declared_shape = false;
                }
                *came |= 1 << at;
                self.check_shape(members[at].1)
            }
            None => {
                match lenient_decode::EXTRA_MEMBERS
                    .iter()
                    .find(|(of, besides, _)| *of == kind && *besides == name)
                {
                    Some((_, _, Some(shape))) => return self.check_shape(*shape),
                    Some((_, _, None)) => {}
                    None => self.has_declared_shape = false,
                }
                self.value(2)
            }
        }
    }

    fn message(&mut self) -> Option<Role> {
        let role = self.tagged("role", lenient_decode::members_of_message)?;
        Some(match role {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" => Role::System,
            _ => Role::Other,
        })
    }

    fn blocks(&mut self) -> Option<()> {
        self.items(|scanner| match scanner.peek()? {
            b'{' => scanner.tagged("type", lenient_decode::members_of_block).map(drop),
            _ => None,
        })
    }

    /// Parses a value and checks its shape. If the shape differs, sets `has_declared_shape` to false.
    fn check_shape(&mut self, shape: Shape) -> Option<()> {
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
            (Shape::StopReason, b'"') => lenient_decode::is_stop_reason(self.string()?.0),
            (Shape::Of(members), b'{') => {
                let mut came = 0;
                self.members(|scanner, name| scanner.member(name, "", members, &mut came))?;
                has_required(members, came)
            }
            _ => {
                self.value(2)?;
                false
            }
        };
        self.has_declared_shape &= fits;
        Some(())
    }
}

/// Returns true if all required members were found. `came` has a bit for each member.
fn has_required(members: lenient_decode::MemberShapes, came: u32) -> bool {
    members.iter().enumerate().all(|(at, (_, shape))| shape.is_optional() || came & (1 << at) != 0)
}

#[cfg(test)]
mod tests;
