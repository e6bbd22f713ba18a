//! Truncation of texts for a model: of a file, the beginning is kept; of a command's output, the end.
//!
//! Newlines separate lines, as in pi. So after a final newline there is a last, empty line.

use serde_json::{Value, json};

/// Maximum number of lines in a result.
pub const MAX_LINES: usize = 2_000;
/// Maximum number of bytes in a result.
pub const MAX_BYTES: usize = 51_200;

/// Limits for a text. Truncation keeps both limits. The default is [`MAX_LINES`] and [`MAX_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of lines.
    pub max_lines: usize,
    /// Maximum number of bytes.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_lines: MAX_LINES, max_bytes: MAX_BYTES }
    }
}

/// The limit because of which a text was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncatedBy {
    /// The number of lines reached its limit.
    Lines,
    /// The number of bytes reached its limit.
    Bytes,
}

/// The retained part of a text, and the size of the whole text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// The retained text.
    pub content: String,
    /// The limit because of which the text was truncated; `None` if it is complete.
    pub truncated_by: Option<TruncatedBy>,
    /// Number of lines of the whole text.
    pub total_lines: u64,
    /// Number of bytes of the whole text.
    pub total_bytes: u64,
    /// Number of retained lines.
    pub output_lines: u64,
    /// Number of retained bytes.
    pub output_bytes: u64,
    /// `true` if even the last line was too long, so that `content` has only its end.
    pub last_line_partial: bool,
    /// `true` if even the first line was too long, so that `content` is empty.
    pub first_line_exceeds_limit: bool,
    /// The limits that applied.
    pub limits: Limits,
}

impl Truncation {
    /// Returns true if text was omitted.
    pub fn truncated(&self) -> bool {
        self.truncated_by.is_some()
    }

    /// Returns the JSON object for `details.truncation` of a tool result.
    pub fn to_json(&self) -> Value {
        json!({
            "content": self.content,
            "truncated": self.truncated(),
            "truncatedBy": self.truncated_by.map(|by| match by {
                TruncatedBy::Lines => "lines",
                TruncatedBy::Bytes => "bytes",
            }),
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.output_bytes,
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds_limit,
            "maxLines": self.limits.max_lines,
            "maxBytes": self.limits.max_bytes,
        })
    }

    fn new(content: &str, total: TextSize, limits: Limits) -> Self {
        Self {
            content: content.to_owned(),
            truncated_by: None,
            total_lines: total.lines,
            total_bytes: total.bytes,
            output_lines: lines_of(content),
            output_bytes: content.len() as u64,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            limits,
        }
    }
}

/// The size of a whole text, of which only a part may be in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextSize {
    pub lines: u64,
    pub bytes: u64,
}

impl TextSize {
    pub(crate) fn of(text: &str) -> Self {
        Self { lines: lines_of(text), bytes: text.len() as u64 }
    }

    pub(crate) fn fit(&self, limits: Limits) -> bool {
        self.lines <= limits.max_lines as u64 && self.bytes <= limits.max_bytes as u64
    }
}

/// Returns as many whole lines from the beginning of a text as the limits allow. If even the first line is too long,
/// the content is empty and `first_line_exceeds_limit` is set.
pub fn truncate_head(text: &str, limits: Limits) -> Truncation {
    truncate_head_of(text, TextSize::of(text), limits)
}

/// Truncates as [`truncate_head`] does. `window` is the beginning of the text: all of it, or more than the byte limit.
pub(crate) fn truncate_head_of(window: &str, total: TextSize, limits: Limits) -> Truncation {
    if total.fit(limits) {
        return Truncation::new(window, total, limits);
    }
    let mut kept = None;
    let mut by = TruncatedBy::Lines;
    for (count, end) in line_ends(window).enumerate() {
        if end > limits.max_bytes {
            by = TruncatedBy::Bytes;
            break;
        }
        if count == limits.max_lines {
            break;
        }
        kept = Some(end);
    }
    let mut truncation = Truncation::new(&window[..kept.unwrap_or(0)], total, limits);
    truncation.truncated_by = Some(by);
    if kept.is_none() {
        truncation.output_lines = 0;
        truncation.first_line_exceeds_limit = by == TruncatedBy::Bytes;
    }
    truncation
}

/// Returns as many whole lines from the end of a text as the limits allow. If even the last line is too long, returns
/// its end.
pub fn truncate_tail(text: &str, limits: Limits) -> Truncation {
    truncate_tail_of(text, TextSize::of(text), limits)
}

/// Truncates as [`truncate_tail`] does. `window` is the end of the text: all of it, or more than the byte limit.
pub(crate) fn truncate_tail_of(window: &str, total: TextSize, limits: Limits) -> Truncation {
    if total.fit(limits) {
        return Truncation::new(window, total, limits);
    }
    let complete = window.len() as u64 == total.bytes;
    let mut kept = None;
    let mut lines = 0;
    let mut end = window.len();
    while lines < limits.max_lines {
        let newline = memchr::memrchr(b'\n', &window.as_bytes()[..end]);
        let start = newline.map_or(0, |at| at + 1);
        if window.len() - start > limits.max_bytes || (newline.is_none() && !complete) {
            break;
        }
        (kept, lines) = (Some(start), lines + 1);
        match newline {
            Some(at) => end = at,
            None => break,
        }
    }
    let by = if lines >= limits.max_lines { TruncatedBy::Lines } else { TruncatedBy::Bytes };
    // An output that ends with a newline has an empty last line, which always fits. That line alone would
    // show nothing of a long line before it, so the end of the long line is retained instead.
    let nothing = kept.is_none_or(|start| start == window.len()) && by == TruncatedBy::Bytes;
    let start = match kept {
        Some(start) if !nothing => start,
        _ => char_boundary_from(window, window.len().saturating_sub(limits.max_bytes)),
    };
    let mut truncation = Truncation::new(&window[start..], total, limits);
    truncation.truncated_by = Some(by);
    truncation.last_line_partial = nothing;
    truncation
}

/// Returns a number of bytes as text, such as `12B`, `50.0KB` or `4.5MB`.
pub fn format_size(bytes: u64) -> String {
    const KB: f64 = 1024.0;
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / KB),
        _ => format!("{:.1}MB", bytes as f64 / (KB * KB)),
    }
}

/// Returns the first character boundary at or after `at`.
pub(crate) fn char_boundary_from(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

fn lines_of(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64 + 1
}

/// Returns the position of the end of each line, before its newline.
fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(max_lines: usize, max_bytes: usize) -> Limits {
        Limits { max_lines, max_bytes }
    }

    #[track_caller]
    fn tail(
        text: &str,
        max_lines: usize,
        max_bytes: usize,
        kept: &str,
        by: Option<TruncatedBy>,
        partial: bool,
    ) {
        let cut = truncate_tail(text, limits(max_lines, max_bytes));
        assert_eq!((cut.content.as_str(), cut.truncated_by, cut.last_line_partial), (kept, by, partial));
    }

    #[track_caller]
    fn head(
        text: &str,
        max_lines: usize,
        max_bytes: usize,
        kept: &str,
        by: Option<TruncatedBy>,
        exceeds: bool,
    ) {
        let cut = truncate_head(text, limits(max_lines, max_bytes));
        assert_eq!(
            (cut.content.as_str(), cut.truncated_by, cut.first_line_exceeds_limit),
            (kept, by, exceeds)
        );
    }

    #[test]
    fn tails() {
        use TruncatedBy::{Bytes, Lines};
        tail("", 2, 10, "", None, false);
        tail("a\nb\n", 3, 10, "a\nb\n", None, false);
        tail("a\nb\nc", 2, 10, "b\nc", Some(Lines), false);
        tail("a\nb\nc\n", 2, 10, "c\n", Some(Lines), false);
        tail("aaaa\nbbbb\ncc", 9, 7, "bbbb\ncc", Some(Bytes), false);
        tail("aaaa\nbbbb\ncc", 9, 6, "cc", Some(Bytes), false);
        tail("xx\n0123456789", 9, 4, "6789", Some(Bytes), true);
        tail("0123456789\n", 9, 4, "789\n", Some(Bytes), true);
        tail("ééééé", 9, 5, "éé", Some(Bytes), true);
        tail("\n\n\n\n", 2, 10, "\n", Some(Lines), false);
    }

    #[test]
    fn heads() {
        use TruncatedBy::{Bytes, Lines};
        head("", 2, 10, "", None, false);
        head("a\nb\nc", 2, 10, "a\nb", Some(Lines), false);
        head("a\nb\n", 2, 10, "a\nb", Some(Lines), false);
        head("aaa\nbbb\nccc", 9, 7, "aaa\nbbb", Some(Bytes), false);
        head("aaa\nbbb\nccc", 9, 6, "aaa", Some(Bytes), false);
        head("0123456789", 9, 4, "", Some(Bytes), true);
        head("\nabcdefgh", 9, 4, "", Some(Bytes), false);
    }

    #[test]
    fn the_record_is_the_recorded_one() {
        let text: String = (1..=3000).map(|n| format!("{n}\n")).collect();
        let record = truncate_tail(&text, Limits::default()).to_json();
        let mut shown = record.clone();
        shown.as_object_mut().unwrap().shift_remove("content");
        assert_eq!(
            shown.to_string(),
            r#"{"truncated":true,"truncatedBy":"lines","totalLines":3001,"totalBytes":13893,"outputLines":2000,"outputBytes":9995,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200}"#
        );
        assert!(record["content"].as_str().unwrap().starts_with("1002\n"));
    }

    #[test]
    fn sizes() {
        let sizes = [0, 1023, 1024, 51_200, 1_048_575, 1_048_576, 4_718_592];
        assert_eq!(
            sizes.map(format_size),
            ["0B", "1023B", "1.0KB", "50.0KB", "1024.0KB", "1.0MB", "4.5MB"].map(String::from)
        );
    }

    proptest! {
        #[test]
        fn a_cut_is_an_end_of_the_text_within_the_limits(
            text in "[a\u{e9}\u{1F600}\n]{0,80}", max_lines in 1usize..8, max_bytes in 4usize..40,
        ) {
            let limits = limits(max_lines, max_bytes);
            let (tail, head) = (truncate_tail(&text, limits), truncate_head(&text, limits));
            prop_assert!(text.ends_with(&tail.content) && text.starts_with(&head.content));
            for cut in [tail, head] {
                prop_assert!(cut.content.len() <= max_bytes);
                prop_assert_eq!(cut.output_bytes, cut.content.len() as u64);
                prop_assert!(cut.output_lines <= max_lines as u64 || cut.last_line_partial);
                prop_assert_eq!(cut.truncated(), !TextSize::of(&text).fit(limits));
                prop_assert_eq!(cut.total_bytes, text.len() as u64);
                if !cut.truncated() { prop_assert_eq!(&cut.content, &text); }
                if text.contains(|c| c != '\n') && cut.truncated() && cut.last_line_partial {
                    prop_assert!(!cut.content.is_empty());
                }
            }
        }

        #[test]
        fn a_window_beyond_the_limit_gives_the_same_cut_as_the_whole_text(
            text in "[ab\u{e9}\n]{0,200}", max_lines in 1usize..8, max_bytes in 4usize..40,
        ) {
            let limits = limits(max_lines, max_bytes);
            let from = char_boundary_from(&text, text.len().saturating_sub(max_bytes + 8));
            let whole = truncate_tail(&text, limits);
            prop_assert_eq!(truncate_tail_of(&text[from..], TextSize::of(&text), limits), whole);
            let to = char_boundary_from(&text, (max_bytes + 8).min(text.len()));
            let whole = truncate_head(&text, limits);
            prop_assert_eq!(truncate_head_of(&text[..to], TextSize::of(&text), limits), whole);
        }
    }
}
