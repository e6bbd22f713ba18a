//! The diff that clients show for an edit.

use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

/// Lines shown around a change.
const CONTEXT: usize = 4;
/// Two texts that differ everywhere take long to compare; a coarse diff is as good then.
const LONGEST: Duration = Duration::from_millis(200);

/// What changed in a text, for people.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Diff {
    /// Each line: `+`, `-` or a space; the line's number, in the new text for `+` and in the old one else; a space;
    /// the line. Lines that are left out show as `...`.
    pub text: String,
    /// The first line that differs, counted in the new text.
    pub first_changed_line: Option<u64>,
}

/// The diff for the replacement of one range. Only the lines around the range are looked at, so that the size of the
/// text does not matter.
pub(crate) fn diff(old: &str, range: Range<usize>, new: &str) -> Diff {
    let start = back(old, range.start, CONTEXT);
    let end = forth(old, range.end, CONTEXT);
    let old_part = &old[start..end];
    let new_part = [&old[start..range.start], new, &old[range.end..end]].concat();
    let before = lines(&old[..start]);
    let after = lines(&old[end..]);
    let width = (before + after + lines(old_part).max(lines(&new_part)) + 1).to_string().len();

    let old_lines: Vec<&str> = old_part.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new_part.split_inclusive('\n').collect();
    let compared = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(LONGEST)
        .diff_slices(&old_lines, &new_lines);
    let changes: Vec<_> = compared.iter_all_changes().collect();
    let changed = |at: usize| changes[at].tag() != ChangeTag::Equal;
    let mut out = Printer { text: String::new(), width, first: None };
    let mut left_out = start > 0;
    for (at, change) in changes.iter().enumerate() {
        let near = at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(changes.len());
        if !near.clone().any(changed) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) {
            out.gap();
        }
        // Before the first change both texts have the same line numbers.
        let number = before + 1 + change.old_index().or(change.new_index()).unwrap_or_default() as u64;
        let new_number = before + 1 + change.new_index().unwrap_or_default() as u64;
        match change.tag() {
            ChangeTag::Equal => out.line(' ', number, change.value()),
            ChangeTag::Delete => out.changed('-', number, number, change.value()),
            ChangeTag::Insert => out.changed('+', new_number, new_number, change.value()),
        }
    }
    if left_out || end < old.len() {
        out.gap();
    }
    Diff { text: out.text, first_changed_line: out.first }
}

struct Printer {
    text: String,
    width: usize,
    first: Option<u64>,
}

impl Printer {
    fn changed(&mut self, mark: char, number: u64, first: u64, line: &str) {
        self.first.get_or_insert(first);
        self.line(mark, number, line);
    }

    fn line(&mut self, mark: char, number: u64, line: &str) {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let width = self.width;
        self.push(&format!("{mark}{number:>width$} {line}"));
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

fn lines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// The start of the line `count` lines before the one with this place.
fn back(text: &str, at: usize, count: usize) -> usize {
    let mut newlines = memchr::memrchr_iter(b'\n', &text.as_bytes()[..at]);
    newlines.nth(count).map_or(0, |newline| newline + 1)
}

/// The end of the line `count` lines after the one with this place.
fn forth(text: &str, at: usize, count: usize) -> usize {
    // A range that ends with a newline ends at the start of the next line, which then is the first of the context.
    let count = if at > 0 && text.as_bytes()[at - 1] == b'\n' { count.saturating_sub(1) } else { count };
    memchr::memchr_iter(b'\n', &text.as_bytes()[at..])
        .nth(count)
        .map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, from: &str, to: &str, expected: &str, first: u64) {
        let at = old.find(from).unwrap();
        let diff = diff(old, at..at + from.len(), to);
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
        let diff = diff(&old, 0..old.len(), &new);
        assert!(diff.text.contains("  5 5\n    ...\n 16 16"), "{}", diff.text);
        assert_eq!(diff.first_changed_line, Some(1));
    }

    #[test]
    fn carriage_returns_are_not_shown() {
        check("a\r\nb\r\n", "a", "c", "-1 a\n+1 c\n 2 b", 1);
    }
}
