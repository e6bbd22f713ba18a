//! Changes of files as text: the removed and the added lines, with some unchanged lines around them.

use std::time::Duration;

use agentese::acp::AcpDiff;
use agentese_process::sanitize;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::shown_text::{MAX_LINE, counted, shortened_line, shown_text};

/// The maximum number of successive removed lines, and of successive added ones. Of more lines, the first and the last
/// are shown.
pub(super) const MAX_REMOVED: usize = 40;
pub(super) const MAX_ADDED: usize = 120;

/// The maximum number of lines of a diff.
const MAX_DIFF_LINES: usize = 400;

/// The number of unchanged lines before and after a change.
const CONTEXT_LINES: usize = 2;

/// Time limit for comparing two texts. After it, the diff is coarse.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// A diff as text.
#[derive(Debug)]
pub(super) struct ShownDiff<'a> {
    diff: &'a AcpDiff,
    /// The lines below the heading.
    lines: Vec<String>,
    /// Numbers of removed and of added lines.
    removed: usize,
    added: usize,
    /// `true` if a line of the diff is cut or left out.
    pub is_cut: bool,
    /// `true` if all lines of the old text are shown.
    shows_old: bool,
    shows_new: bool,
}

impl<'a> ShownDiff<'a> {
    /// Compares both texts. The lines have some unchanged lines around each change.
    pub fn new(diff: &'a AcpDiff) -> Self {
        let old: Vec<&str> = diff.old_text.as_option().map(|text| lines(text)).unwrap_or_default();
        let new: Vec<&str> = lines(&diff.new_text);
        let compared =
            TextDiff::configure().algorithm(Algorithm::Myers).timeout(DIFF_TIMEOUT).diff_slices(&old, &new);
        let mut shown = Self {
            diff,
            lines: Vec::new(),
            removed: 0,
            added: 0,
            is_cut: false,
            shows_old: false,
            shows_new: false,
        };
        let mut unchanged = 0;
        for (at, group) in compared.grouped_ops(CONTEXT_LINES).iter().enumerate() {
            if at > 0 {
                shown.lines.push("  …".to_owned());
            }
            let changes: Vec<_> =
                group.iter().flat_map(|operation| compared.iter_changes(operation)).collect();
            for run in changes.chunk_by(|one, next| one.tag() == next.tag()) {
                let values: Vec<&str> = run.iter().map(|change| change.value()).collect();
                match run[0].tag() {
                    ChangeTag::Equal => {
                        unchanged += values.len();
                        shown.push_run(' ', &values, "unchanged", MAX_ADDED);
                    }
                    ChangeTag::Delete => {
                        shown.removed += values.len();
                        shown.push_run('-', &values, "removed", MAX_REMOVED);
                    }
                    ChangeTag::Insert => {
                        shown.added += values.len();
                        shown.push_run('+', &values, "added", MAX_ADDED);
                    }
                }
            }
        }
        if shown.lines.len() > MAX_DIFF_LINES {
            let half = MAX_DIFF_LINES / 2;
            let cut = shown.lines.len() - 2 * half;
            let note = format!("  [{cut} lines of the diff are not shown here]");
            shown.lines.splice(half..half + cut, [note]);
            shown.is_cut = true;
        }
        shown.shows_old = !shown.is_cut && shown.removed + unchanged == old.len();
        shown.shows_new = !shown.is_cut && shown.added + unchanged == new.len();
        shown
    }

    /// Adds successive lines of one kind, named by `name`. Of more than `max` lines, adds the first and the last ones.
    fn push_run(&mut self, mark: char, lines: &[&str], name: &str, max: usize) {
        let (first, last) = match lines.len() > max {
            true => (&lines[..max / 2], &lines[lines.len() - max / 2..]),
            false => (lines, &lines[lines.len()..]),
        };
        self.push_lines(mark, first);
        let cut = lines.len() - first.len() - last.len();
        if cut > 0 {
            self.is_cut = true;
            self.lines.push(format!("  [{} not shown here]", counted(cut, &format!("{name} line"))));
        }
        self.push_lines(mark, last);
    }

    fn push_lines(&mut self, mark: char, lines: &[&str]) {
        for line in lines {
            let (line, is_cut) =
                shortened_line(line.strip_suffix('\n').unwrap_or(line), MAX_LINE, shown_text);
            self.is_cut |= is_cut;
            self.lines.push(format!("  {mark} {line}"));
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &'a str {
        &self.diff.path
    }

    /// Returns the line above the lines of the diff. The returned flag is `true` if the path is cut.
    pub fn heading(&self) -> (String, bool) {
        let verb = if self.diff.old_text.as_option().is_some() { "Change of" } else { "New content of" };
        let escape = |line: &str| sanitize::sanitize_line(line).into_owned();
        let (path, is_cut) = shortened_line(self.path(), MAX_LINE, escape);
        let (removed, added) = (counted(self.removed, "line"), counted(self.added, "line"));
        (format!("{verb} {path}: {removed} removed, {added} added"), is_cut)
    }

    /// Returns the heading and the lines.
    pub fn text(&self) -> String {
        [&[self.heading().0][..], &self.lines].concat().join("\n")
    }

    /// Returns `true` if the lines contain the whole text.
    pub fn shows(&self, text: &str) -> bool {
        let is_old = self.shows_old && self.diff.old_text.as_option().is_some_and(|old| old == text);
        !text.is_empty() && (is_old || self.shows_new && self.diff.new_text == text)
    }
}

/// Returns the lines of a text with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}
