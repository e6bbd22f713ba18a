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

mod blocks;
mod cursor;
mod outline;
mod value;

use cursor::Cursor;
pub use outline::{Outline, Place};
pub use value::{boolean, is_null, string, unsigned};

/// How deep brackets may nest, in levels: the same in the clients of all languages, and as deep as decoders of JSON read.
/// Deeper text is refused.
pub const MAX_DEPTH: usize = 127;

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
    /// The lengths of their names, one bit each, modulo 64: most names are told apart by that alone.
    lengths: u64,
}

impl<const N: usize> Wanted<N> {
    /// At most 32 members; more do not compile.
    pub const fn new(members: [Member; N]) -> Self {
        const { assert!(N <= 32, "at most 32 members can be wanted") };
        let (mut lengths, mut at) = (0, 0);
        while at < N {
            lengths |= 1 << (members[at].outer.len() % 64);
            at += 1;
        }
        Self { members, lengths }
    }

    /// Whether a member with that name may be among them.
    #[inline]
    fn may_have(&self, key: &cursor::Key<'_>) -> bool {
        key.is_escaped() || self.lengths >> (key.text().len() % 64) & 1 == 1
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
    look(text, wanted, None)
}

/// Like [`scan`], in the same pass also noting where the members stand: all of the object, and those of its members that are
/// objects and not among the wanted. The text must be shorter than 4 GiB.
pub fn scan_and_outline<'a, const N: usize>(
    text: &'a str,
    wanted: &Wanted<N>,
) -> Result<(Found<'a, N>, Outline), ScanError> {
    let mut outline = Outline::default();
    let found = look(text, wanted, Some(&mut outline))?;
    Ok((found, outline))
}

#[inline]
fn look<'a, const N: usize>(
    text: &'a str,
    wanted: &Wanted<N>,
    mut outline: Option<&mut Outline>,
) -> Result<Found<'a, N>, ScanError> {
    let mut found = Found { values: [None; N] };
    let mut cursor = Cursor::new(text);
    cursor.open()?;
    cursor.members(|cursor, key| {
        let mut whole = 0u32;
        let mut parts = 0u32;
        if wanted.may_have(&key) {
            for (index, member) in wanted.members.iter().enumerate() {
                if key.is(member.outer) {
                    // A second member of this name replaces the first, its parts included.
                    found.values[index] = None;
                    if member.inner.is_none() { whole |= 1 << index } else { parts |= 1 << index }
                }
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
        } else if let Some(outline) = &mut outline {
            skip_and_note(cursor, outline)?;
        } else {
            cursor.skip_value(1)?;
        }
        for index in bits(whole) {
            found.values[index] = cursor.text.get(start..cursor.at);
        }
        if let Some(outline) = &mut outline {
            outline.note_member(place(cursor, &key, start));
        }
        Ok(())
    })?;
    cursor.close()?;
    Ok(found)
}

/// Takes the value of a member, and notes the members of one that is an object.
fn skip_and_note(cursor: &mut Cursor<'_>, outline: &mut Outline) -> Result<(), ScanError> {
    let (start, noted) = (cursor.at, outline.noted());
    if cursor.bytes[start] == b'{' {
        cursor.at += 1;
        let sound = cursor.members(|cursor, key| {
            let start = cursor.at;
            cursor.skip_value(2)?;
            outline.note_inner(place(cursor, &key, start));
            Ok(())
        });
        if sound.is_ok() {
            return Ok(());
        }
        // What is wrong in it concerns whoever decodes it.
        outline.forget(noted);
        cursor.at = start;
    }
    cursor.skip_value(1)
}

/// The place of a member whose value begins at `start` and has been taken.
fn place(cursor: &Cursor<'_>, key: &cursor::Key<'_>, start: usize) -> Place {
    let name = key.text().as_ptr() as usize - cursor.text.as_ptr() as usize;
    [name, name + key.text().len(), start, cursor.at].map(|at| at as u32)
}

/// Goes over the members of the object that `text` is: `each` is given the name as it stands in the text,
/// without its quotes and with its escapes, and the raw JSON of the value.
///
/// Fails like [`scan`], after the members before the mistake have been given.
pub fn members<'a>(text: &'a str, mut each: impl FnMut(&'a str, &'a str)) -> Result<(), ScanError> {
    let mut cursor = Cursor::new(text);
    cursor.open()?;
    cursor.members(|cursor, key| {
        let start = cursor.at;
        cursor.skip_value(1)?;
        each(key.text(), cursor.text.get(start..cursor.at).unwrap_or_default());
        Ok(())
    })?;
    cursor.close()
}

/// Goes over the items of the array that `text` is: `each` is given the raw JSON of an item, and its failure ends
/// the walk.
///
/// Fails like [`scan`] where the text is not one array; the result inside is that of `each`.
pub fn items<'a, E>(
    text: &'a str,
    mut each: impl FnMut(&'a str) -> Result<(), E>,
) -> Result<Result<(), E>, ScanError> {
    let mut cursor = Cursor::new(text);
    cursor.open_array()?;
    let mut failed = None;
    cursor.items(|cursor| {
        let start = cursor.at;
        cursor.skip_value(1)?;
        if failed.is_none() {
            failed = each(cursor.text.get(start..cursor.at).unwrap_or_default()).err();
        }
        Ok(())
    })?;
    cursor.close()?;
    Ok(failed.map_or(Ok(()), Err))
}

/// Whether a member's name as it stands in the text, escapes and all, is that name.
#[inline]
pub fn is_named(raw: &str, name: &str) -> bool {
    cursor::Key::new(raw).is(name)
}

/// The positions of the bits that are set.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (index < 32).then_some(index as usize)
    })
}
