//! A scanner that finds a few members of a JSON object and skips the rest without decoding it.
//!
//! Routing a frame needs its type, its id and little more, while most of its bytes are text that routing
//! ignores. [`scan`] walks over the object once, hops from quote to quote through strings, and returns the raw
//! JSON of the wanted members. A wanted member is a member of the object itself, or of an object directly
//! inside it. The scan always covers the whole text: if two members have the same name, the last one applies.
//!
//! The scan checks structure only: one object without trailing text, matching brackets, terminated strings, a
//! bounded depth. Decoders check numbers and escapes later.
//!
//! ```
//! use agentese::scan::{MemberSet, inner, member, scan};
//!
//! const WANTED: MemberSet<2> = MemberSet::new([member("type"), inner("delta", "text")]);
//! let found = scan(r#"{"delta":{"text":"hi","n":[1]},"type":"x"}"#, &WANTED).unwrap();
//! assert_eq!(found[0], Some(r#""x""#));
//! assert_eq!(found.string(1).as_deref(), Some("hi"));
//! ```

use std::borrow::Cow;
use std::ops::Index;

mod blocks;
mod cursor;
mod error;
mod outline;
mod value;

use cursor::Cursor;
pub use error::{JsonKind, MAX_DEPTH, ScanError};
pub use outline::{MemberSpan, Outline};
pub use value::{boolean, is_null, string, unsigned};

/// A member to find.
#[derive(Debug, Clone, Copy)]
pub struct MemberSelector {
    outer: &'static str,
    inner: Option<&'static str>,
}

/// Selects a member of the object itself.
pub const fn member(name: &'static str) -> MemberSelector {
    MemberSelector { outer: name, inner: None }
}

/// Selects a member of the object in the member `outer`.
pub const fn inner(outer: &'static str, name: &'static str) -> MemberSelector {
    MemberSelector { outer, inner: Some(name) }
}

/// The members to find. [`FoundMembers`] has the same order.
#[derive(Debug, Clone, Copy)]
pub struct MemberSet<const N: usize> {
    members: [MemberSelector; N],
    /// The lengths of the names, modulo 64, as a set of bits. For most other names, the length alone shows that
    /// they are not wanted.
    lengths: u64,
}

impl<const N: usize> MemberSet<N> {
    /// Creates a set of at most 32 members. A larger set does not compile.
    pub const fn new(members: [MemberSelector; N]) -> Self {
        const { assert!(N <= 32, "at most 32 members can be wanted") };
        let (mut lengths, mut at) = (0, 0);
        while at < N {
            lengths |= 1 << (members[at].outer.len() % 64);
            at += 1;
        }
        Self { members, lengths }
    }

    /// Returns `true` if a member with the given name may be in the set.
    #[inline]
    fn may_have(&self, key: &cursor::Key<'_>) -> bool {
        key.is_escaped() || self.lengths >> (key.text().len() % 64) & 1 == 1
    }
}

/// Result of a scan: for each wanted member the raw JSON of its value, or `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundMembers<'a, const N: usize> {
    values: [Option<&'a str>; N],
}

impl<'a, const N: usize> FoundMembers<'a, N> {
    /// Returns the raw JSON of the wanted member at `index`. Returns `None` if the object lacks the member or
    /// the index is too large.
    pub fn get(&self, index: usize) -> Option<&'a str> {
        self.values.get(index).copied().flatten()
    }

    /// Returns the value as a string. Returns `None` if the value is absent, is not a string, or has invalid
    /// escapes.
    pub fn string(&self, index: usize) -> Option<Cow<'a, str>> {
        string(self.get(index)?)
    }

    /// Returns the value as a non-negative integer; `None` if it is absent or of another kind.
    pub fn unsigned(&self, index: usize) -> Option<u64> {
        unsigned(self.get(index)?)
    }

    /// Returns the value as a boolean; `None` if it is absent or of another kind.
    pub fn boolean(&self, index: usize) -> Option<bool> {
        boolean(self.get(index)?)
    }
}

impl<'a, const N: usize> Index<usize> for FoundMembers<'a, N> {
    type Output = Option<&'a str>;

    fn index(&self, index: usize) -> &Self::Output {
        &self.values[index]
    }
}

/// Finds the wanted members of the object in `text`.
///
/// Fails if the text is not exactly one object. Runs in one pass with constant memory, independent of the
/// nesting.
pub fn scan<'a, const N: usize>(
    text: &'a str,
    wanted: &MemberSet<N>,
) -> Result<FoundMembers<'a, N>, ScanError> {
    scan_members(text, wanted, None)
}

/// Returns a boolean member of an event.
pub fn flag(event: &str, name: &'static str) -> Option<bool> {
    scan(event, &MemberSet::new([member(name)])).ok()?.boolean(0)
}

/// Works like [`scan`], and also records the positions of all members of the object. For inner objects that are
/// not wanted, it records the positions of their members too. The text must be shorter than 4 GiB.
pub fn scan_and_outline<'a, const N: usize>(
    text: &'a str,
    wanted: &MemberSet<N>,
) -> Result<(FoundMembers<'a, N>, Outline), ScanError> {
    let mut outline = Outline::default();
    let found = scan_members(text, wanted, Some(&mut outline))?;
    Ok((found, outline))
}

#[inline]
fn scan_members<'a, const N: usize>(
    text: &'a str,
    wanted: &MemberSet<N>,
    mut outline: Option<&mut Outline>,
) -> Result<FoundMembers<'a, N>, ScanError> {
    let mut found = FoundMembers { values: [None; N] };
    let mut cursor = Cursor::new(text);
    cursor.open()?;
    cursor.members(|cursor, key| {
        let mut whole = 0u32;
        let mut parts = 0u32;
        if wanted.may_have(&key) {
            for (index, member) in wanted.members.iter().enumerate() {
                if key.is(member.outer) {
                    // A second member of this name replaces the first, including its parts.
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
            skip_and_outline(cursor, outline)?;
        } else {
            cursor.skip_value(1)?;
        }
        for index in bits(whole) {
            found.values[index] = cursor.text.get(start..cursor.at);
        }
        if let Some(outline) = &mut outline {
            outline.push_member(place(cursor, &key, start));
        }
        Ok(())
    })?;
    cursor.close()?;
    Ok(found)
}

/// Consumes the value of a member. If it is an object, also records the positions of its members.
fn skip_and_outline(cursor: &mut Cursor<'_>, outline: &mut Outline) -> Result<(), ScanError> {
    let (start, noted) = (cursor.at, outline.inner_count());
    if cursor.bytes[start] == b'{' {
        cursor.at += 1;
        let sound = cursor.members(|cursor, key| {
            let start = cursor.at;
            cursor.skip_value(2)?;
            outline.push_inner(place(cursor, &key, start));
            Ok(())
        });
        if sound.is_ok() {
            return Ok(());
        }
        // An error inside the value is left to the decoder of the value.
        outline.truncate_inner(noted);
        cursor.at = start;
    }
    cursor.skip_value(1)
}

/// Returns the position of a member whose value begins at `start` and ends at the cursor.
fn place(cursor: &Cursor<'_>, key: &cursor::Key<'_>, start: usize) -> MemberSpan {
    let name = key.text().as_ptr() as usize - cursor.text.as_ptr() as usize;
    [name, name + key.text().len(), start, cursor.at].map(|at| at as u32)
}

/// Iterates over the members of the object in `text`. `each` receives the name as in the text (without its
/// quotes, with its escapes) and the raw JSON of the value.
///
/// Fails like [`scan`]. In that case, `each` has received the members before the error.
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

/// Iterates over the items of the array in `text`. `each` receives the raw JSON of each item. After an error,
/// it is not called again.
///
/// The outer result fails like [`scan`] if the text is not one array. The inner result is the error of `each`,
/// if any.
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

/// Returns `true` if the name of a member, given as in the text, equals `name` after its escapes are resolved.
#[inline]
pub fn is_named(raw: &str, name: &str) -> bool {
    cursor::Key::new(raw).is(name)
}

/// Returns the indices of the bits that are set.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let index = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (index < 32).then_some(index as usize)
    })
}
