//! Writing of markup in pieces.

use std::io::{self, Write};

use maud::{Markup, PreEscaped};

/// The placeholder for content that is too long for one text. No text of a session contains it, because every
/// text is escaped.
pub(super) const SLOT: PreEscaped<&str> = PreEscaped("<!--slot-->");

/// Writes markup. Fails if writing to `out` fails.
pub(super) fn write_markup(out: &mut dyn Write, markup: &Markup) -> io::Result<()> {
    out.write_all(markup.0.as_bytes())
}

/// Returns the text before, between and after the slots of a markup.
pub(super) fn split_at_slots<const N: usize>(markup: &Markup) -> [&str; N] {
    let mut parts = markup.0.split(SLOT.0);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
