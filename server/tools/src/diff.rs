//! The diff of an edit for clients.

use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Number of unchanged lines shown before and after a change.
const CONTEXT: usize = 4;
/// Time limit for comparing two texts. After it, the diff is coarse.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// A range of a text and its replacement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextEdit {
    pub range: Range<usize>,
    pub new: String,
}

/// The diff of a text, in two formats.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The diff for clients. Each line has `+`, `-` or a space, then a line number, a space, and the line. The number
    /// refers to the new text for `+`, otherwise to the old text. `...` stands for omitted lines.
    pub text: String,
    /// Number of the first changed line in the new text.
    pub first_changed_line: Option<u64>,
    hunks: String,
}

impl Diff {
    /// Returns a unified diff with `path` in its header. All lines end in LF.
    pub fn patch(&self, path: &str) -> String {
        format!("--- {path}\n+++ {path}\n{}", self.hunks)
    }
}

/// Returns the diff for `pieces`, which must be in text order and must not overlap. Compares only the lines around the
/// pieces, so the cost does not depend on the size of the text.
pub(crate) fn diff(old: &str, pieces: &[TextEdit]) -> Diff {
    let (mut removed, mut added) = (0, 0);
    for piece in pieces {
        removed += lines(&old[piece.range.clone()]);
        added += lines(&piece.new);
    }
    let all = lines(old);
    let width = (all.max(all + added - removed) + 1).to_string().len();
    let mut out = Printer { text: String::new(), hunks: String::new(), width, first: None };
    let (mut seen, mut left_out) = (0, false);
    let mut before = LineNumbers { old: 1, new: 1 };
    for (window, pieces) in windows(old, pieces) {
        let skipped = lines(&old[seen..window.start]);
        left_out |= window.start > seen;
        before = LineNumbers { old: before.old + skipped, new: before.new + skipped };
        seen = window.end;
        let old_part = &old[window.clone()];
        let new_part = replaced(old, window.clone(), pieces);
        left_out = out.part(old_part, &new_part, before, left_out);
        before = LineNumbers { old: before.old + lines(old_part), new: before.new + lines(&new_part) };
    }
    if left_out || seen < old.len() {
        out.gap();
    }
    Diff { text: out.text, first_changed_line: out.first, hunks: out.hunks }
}

/// Returns ranges of whole lines that contain the replacements and their context, each with its replacements.
fn windows<'a>(old: &str, pieces: &'a [TextEdit]) -> Vec<(Range<usize>, &'a [TextEdit])> {
    let mut windows: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let start = context_start(old, piece.range.start, CONTEXT);
        let end = context_end(old, piece.range.end, CONTEXT);
        match windows.last_mut() {
            Some((window, within)) if start <= window.end => {
                (window.end, within.end) = (window.end.max(end), at + 1);
            }
            _ => windows.push((start..end, at..at + 1)),
        }
    }
    windows.into_iter().map(|(window, within)| (window, &pieces[within])).collect()
}

/// Returns the new text of a range, with its replacements applied.
fn replaced(old: &str, window: Range<usize>, pieces: &[TextEdit]) -> String {
    let (mut text, mut at) = (String::new(), window.start);
    for piece in pieces {
        text += &old[at..piece.range.start];
        text += &piece.new;
        at = piece.range.end;
    }
    text + &old[at..window.end]
}

/// The numbers of a line in the old and the new text, counted from 1.
#[derive(Debug, Clone, Copy)]
struct LineNumbers {
    old: u64,
    new: u64,
}

struct Printer {
    text: String,
    hunks: String,
    width: usize,
    first: Option<u64>,
}

impl Printer {
    /// Adds the differences between two parts of the texts, which begin at `start`. `left_out` is true if lines before
    /// the part were omitted. Returns true if lines at its end were omitted.
    fn part(&mut self, old: &str, new: &str, start: LineNumbers, mut left_out: bool) -> bool {
        let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
        let compared = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(DIFF_TIMEOUT)
            .diff_slices(&old_lines, &new_lines);
        let changes: Vec<_> = compared.iter_all_changes().collect();
        let changed = |at: usize| changes[at].tag() != ChangeTag::Equal;
        for (at, change) in changes.iter().enumerate() {
            let mut near = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(changes.len());
            if !near.any(changed) {
                left_out = true;
                continue;
            }
            if std::mem::take(&mut left_out) {
                self.gap();
            }
            let old_number = start.old + change.old_index().unwrap_or_default() as u64;
            let new_number = start.new + change.new_index().unwrap_or_default() as u64;
            match change.tag() {
                ChangeTag::Equal => self.line(' ', old_number, change.value()),
                // Before the first change both texts have the same line numbers.
                ChangeTag::Delete => self.changed('-', old_number, change.value()),
                ChangeTag::Insert => self.changed('+', new_number, change.value()),
            }
        }
        for group in compared.grouped_ops(CONTEXT) {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let old = side(start.old, first.old_range().start..last.old_range().end);
            let new = side(start.new, first.new_range().start..last.new_range().end);
            self.hunks += &format!("@@ -{old} +{new} @@\n");
            for change in group.iter().flat_map(|operation| compared.iter_changes(operation)) {
                self.hunk_line(change.tag(), change.value());
            }
        }
        left_out
    }

    fn hunk_line(&mut self, tag: ChangeTag, line: &str) {
        self.hunks.push(match tag {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        });
        self.hunks.push_str(without_ending(line));
        self.hunks.push('\n');
        if !line.ends_with('\n') {
            self.hunks.push_str("\\ No newline at end of file\n");
        }
    }

    fn changed(&mut self, mark: char, number: u64, line: &str) {
        self.first.get_or_insert(number);
        self.line(mark, number, line);
    }

    fn line(&mut self, mark: char, number: u64, line: &str) {
        let width = self.width;
        self.push(&format!("{mark}{number:>width$} {}", without_ending(line)));
    }

    fn gap(&mut self) {
        let width = self.width;
        self.push(&format!(" {:width$} ...", ""));
    }

    fn push(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Returns the position of a hunk in one text, as `LINE,COUNT`. If the count is 0, the line is the one before the hunk.
fn side(first: u64, range: Range<usize>) -> String {
    let count = range.len() as u64;
    let start = first + range.start as u64;
    format!("{},{count}", if count == 0 { start - 1 } else { start })
}

fn lines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// Returns the start of the line that is `count` lines before the position `at`.
fn context_start(text: &str, at: usize, count: usize) -> usize {
    let mut newlines = memchr::memrchr_iter(b'\n', &text.as_bytes()[..at]);
    newlines.nth(count).map_or(0, |newline| newline + 1)
}

/// Returns the end of the line that is `count` lines after the position `at`.
fn context_end(text: &str, at: usize, count: usize) -> usize {
    // A range that ends with a newline ends at the start of the next line, which is then the first line of
    // the context.
    let count = if at > 0 && text.as_bytes()[at - 1] == b'\n' { count.saturating_sub(1) } else { count };
    memchr::memchr_iter(b'\n', &text.as_bytes()[at..])
        .nth(count)
        .map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(old: &str, from: &str, to: &str) -> TextEdit {
        let at = old.find(from).unwrap();
        TextEdit { range: at..at + from.len(), new: to.to_owned() }
    }

    #[track_caller]
    fn check(old: &str, from: &str, to: &str, expected: &str, first: u64) {
        let diff = diff(old, &[piece(old, from, to)]);
        assert_eq!((diff.text.as_str(), diff.first_changed_line), (expected, Some(first)));
    }

    #[test]
    fn as_recorded() {
        check("alpha\nbeta\ngamma\n", "beta", "BETA", " 1 alpha\n-2 beta\n+2 BETA\n 3 gamma", 2);
    }

    #[test]
    fn four_lines_of_context_and_marks_for_the_rest() {
        let old: String = (1..=12).map(|n| format!("l{n}\n")).collect();
        check(
            &old,
            "l6\n",
            "x\ny\n",
            "    ...\n  2 l2\n  3 l3\n  4 l4\n  5 l5\n- 6 l6\n+ 6 x\n+ 7 y\n  7 l7\n  8 l8\n  9 l9\n 10 l10\n    ...",
            6,
        );
        check(&old, "l1\n", "", "- 1 l1\n  2 l2\n  3 l3\n  4 l4\n  5 l5\n    ...", 1);
        check(&old, "l12\n", "l12", "    ...\n  8 l8\n  9 l9\n 10 l10\n 11 l11\n-12 l12\n+12 l12", 12);
    }

    #[test]
    fn the_middle_of_a_large_replacement_is_left_out_where_it_is_equal() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replacen("1\n", "one\n", 1).replace("20\n", "twenty\n");
        let diff = diff(&old, &[TextEdit { range: 0..old.len(), new }]);
        assert!(diff.text.contains("  5 5\n    ...\n 16 16"), "{}", diff.text);
        assert_eq!(diff.first_changed_line, Some(1));
    }

    #[test]
    fn carriage_returns_are_not_shown() {
        check("a\r\nb\r\n", "a", "c", "-1 a\n+1 c\n 2 b", 1);
    }

    #[test]
    fn several_changes_are_shown_together_where_they_are_near_and_apart_where_they_are_not() {
        let old: String = (1..=30).map(|n| format!("l{n}\n")).collect();
        let pieces =
            [piece(&old, "l2\n", "two\nand a half\n"), piece(&old, "l8\n", ""), piece(&old, "l25\n", "x\n")];
        let diff = diff(&old, &pieces);
        assert_eq!(
            diff.text,
            "  1 l1\n- 2 l2\n+ 2 two\n+ 3 and a half\n  3 l3\n  4 l4\n  5 l5\n  6 l6\n  7 l7\n- 8 l8\n  9 l9\n 10 \
             l10\n 11 l11\n 12 l12\n    ...\n 21 l21\n 22 l22\n 23 l23\n 24 l24\n-25 l25\n+25 x\n 26 l26\n 27 l27\n \
             28 l28\n 29 l29\n    ..."
        );
        assert_eq!(diff.first_changed_line, Some(2));
        assert_eq!(
            diff.patch("a"),
            "--- a\n+++ a\n@@ -1,12 +1,12 @@\n l1\n-l2\n+two\n+and a half\n l3\n l4\n l5\n l6\n l7\n-l8\n l9\n l10\n \
             l11\n l12\n@@ -21,9 +21,9 @@\n l21\n l22\n l23\n l24\n-l25\n+x\n l26\n l27\n l28\n l29\n"
        );
    }

    #[test]
    fn a_patch_counts_no_lines_from_the_one_before_and_marks_a_last_line_without_an_ending() {
        let patch = |old: &str, from: &str, to: &str| diff(old, &[piece(old, from, to)]).patch("f");
        assert_eq!(
            patch("a\r\nb", "b", "c\nd"),
            "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+c\n+d\n\\ No newline at end of file\n"
        );
        assert_eq!(patch("a\n", "a\n", ""), "--- f\n+++ f\n@@ -1,1 +0,0 @@\n-a\n");
    }
}
