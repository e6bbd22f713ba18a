//! Shortened texts for error messages.

/// Maximum number of characters of an unexpected text that an error message shows.
const EXCERPT: usize = 200;

/// Returns the beginning of a text, on one line, for an error message.
pub fn excerpt(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("<html>\n\n <body>\u{1b}[1m"), "<html> <body> [1m");
        assert_eq!(excerpt(&"ä".repeat(500)).chars().count(), EXCERPT + 1);
    }
}
