//! Writing of HTML, and placeholders for content that is written separately.

use std::io::{self, Write};

use maud::{Markup, PreEscaped};

/// The placeholder for content that is written separately, because it is too long for memory. A session
/// cannot contain this text, because every text is escaped.
pub(super) const SLOT: PreEscaped<&str> = PreEscaped("<!--slot-->");

/// Writes HTML to `out`. Fails if this is not possible.
pub(super) fn write_markup(out: &mut dyn Write, markup: &Markup) -> io::Result<()> {
    out.write_all(markup.0.as_bytes())
}

/// Splits HTML at its placeholders and returns the texts around them.
pub(super) fn split_at_slots<const N: usize>(markup: &Markup) -> [&str; N] {
    let mut parts = markup.0.split(SLOT.0);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
