//! The positions of an object's members in its JSON text.

use std::sync::Arc;

use agentese::scan::{self, Outline};

/// The number of members whose positions are stored inline, for a text below 64 KiB.
const FEW: usize = 6;

/// Offsets into the text: the start and the end of the name, then of the value.
type Span<N> = [N; 4];

/// The positions of all members of an object.
pub enum MemberSpans {
    /// A few members of a short text, stored inline.
    Few(u8, [Span<u16>; FEW]),
    /// Any number of members.
    Many(Box<[Span<u32>]>),
    /// Positions that the reading thread has already found in an event.
    Outlined(Arc<Outline>),
}

impl MemberSpans {
    /// Scans the text of an object. Fails with the reason if the text is not an object.
    pub fn of(text: &str) -> Result<Self, String> {
        if !Outline::fits(text.len()) {
            return Err("the text is 4 GiB or longer".to_owned());
        }
        let mut few = [[0; 4]; FEW];
        let mut many = Vec::new();
        let mut count = 0;
        let room = if text.len() > usize::from(u16::MAX) { 0 } else { FEW };
        let start = text.as_ptr() as usize;
        scan::members(text, |name, value| {
            let [name_at, value_at] = [name, value].map(|part| part.as_ptr() as usize - start);
            let place = [name_at, name_at + name.len(), value_at, value_at + value.len()];
            if count < room {
                few[count] = place.map(|at| at as u16);
            } else {
                if many.is_empty() {
                    many.extend(few[..count].iter().map(|place| place.map(u32::from)));
                }
                many.push(place.map(|at| at as u32));
            }
            count += 1;
        })
        .map_err(|error| error.to_string())?;
        Ok(if count <= room { MemberSpans::Few(count as u8, few) } else { MemberSpans::Many(many.into()) })
    }

    /// Returns the raw JSON of a member of that text; the last one if the name occurs several
    /// times.
    #[inline]
    pub fn find<'a>(&self, text: &'a str, name: &str) -> Option<&'a str> {
        fn search<'a, N: Copy + Into<u32>>(places: &[Span<N>], text: &'a str, name: &str) -> Option<&'a str> {
            let part =
                |from: N, to: N| text.get(from.into() as usize..to.into() as usize).unwrap_or_default();
            let found = places.iter().rev().find(|[from, to, ..]| scan::is_named(part(*from, *to), name));
            found.map(|&[.., from, to]| part(from, to))
        }
        match self {
            MemberSpans::Few(count, few) => search(&few[..usize::from(*count)], text, name),
            MemberSpans::Many(many) => search(many, text, name),
            MemberSpans::Outlined(outline) => search(outline.members(), text, name),
        }
    }
    /// Returns the positions of the members in `part`, an object inside that text, if they are
    /// known.
    pub fn inner(&self, text: &str, part: &str) -> Option<Self> {
        let MemberSpans::Outlined(outline) = self else { return None };
        let start = (part.as_ptr() as usize - text.as_ptr() as usize) as u32;
        let inner = outline.inner(start, start + part.len() as u32);
        let within = inner.iter().map(|place| place.map(|at| at - start));
        (!inner.is_empty()).then(|| MemberSpans::Many(within.collect()))
    }
}
