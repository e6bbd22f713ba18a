//! Detection of texts without visible characters.

/// Returns true if a text has no visible character. It can contain white space, control characters and Unicode's
/// default ignorable characters (zero-width spaces, joiners, byte order marks).
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|character| character.is_whitespace() || character.is_control() || is_ignorable(character))
}

/// Returns true if Unicode lists the character as `Default_Ignorable_Code_Point`.
fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_controls_and_characters_without_a_glyph_are_blank() {
        for text in
            ["", " ", "\n\t \r", "\u{a0}\u{2003}\u{3000}", "\u{200b}\u{feff}", "\0\u{1b}", "\u{2060} \u{ad}"]
        {
            assert!(is_blank(text), "{text:?}");
        }
        for text in [".", " a ", "\u{200b}x", "👍\u{fe0f}", "\u{301}", "…"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }
}
