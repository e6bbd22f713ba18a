//! Tables for output to users.

use unicode_width::UnicodeWidthStr;

use agentese_process::sanitize::sanitize_line;

/// Formats rows as lines under a heading, with two spaces between columns. Control characters are escaped. The
/// last column has no width limit.
pub(super) fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<[String; N]> = std::iter::once(heading.map(str::to_owned))
        .chain(rows.iter().map(|row| std::array::from_fn(|at| sanitize_line(&row[at]).into_owned())))
        .collect();
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].width()).max().unwrap_or_default());
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - cell.width()));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the text on one line, with an ellipsis if it exceeds `limit` characters.
pub(super) fn shortened(text: &str, limit: usize) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(limit) {
        words.truncate(end);
        words.pop();
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_their_content() {
        let rows = [["漢字", "b\nc"].map(str::to_owned), ["a", ""].map(str::to_owned)];
        assert_eq!(table(["x", "long"], &rows), "x     long\n漢字  b\\nc\na\n");
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(shortened("a  b\nc", 5), "a b c");
        assert_eq!(shortened("äöüß", 3), "äö…");
    }
}
