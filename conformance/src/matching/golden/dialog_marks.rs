//! Alignment of dialogs by their marks. A mark is the method with the beginning of the dialog's text.

use super::align::Alignment;
use super::rules::Rules;
use super::transcript_streams::Frame;

/// Aligns the dialogs of two transcripts.
pub(super) fn align(rules: &Rules, expected: &[Frame], actual: &[Frame]) -> Alignment {
    let marks =
        |dialogs: &[Frame]| -> Vec<String> { dialogs.iter().map(|dialog| mark(rules, dialog)).collect() };
    let mut alignment = super::align::align(&marks(expected), &marks(actual));
    pair_near_dialogs(rules, expected, actual, &mut alignment);
    alignment
}

/// Pairs missing dialogs with additional ones that have the same method. Dialogs left over are paired
/// if they have the same text.
fn pair_near_dialogs(rules: &Rules, expected: &[Frame], actual: &[Frame], alignment: &mut Alignment) {
    let words = |dialog: &Frame| mark_text(rules, dialog).map(str::to_owned);
    for same_method in [true, false] {
        alignment.missing.retain(|g| {
            let expected = &expected[*g];
            let is_meant = |actual: &Frame| match same_method {
                true => expected.name == actual.name,
                false => words(expected).is_some() && words(expected) == words(actual),
            };
            let Some(place) = alignment.extra.iter().position(|o| is_meant(&actual[*o])) else { return true };
            alignment.pairs.push((*g, alignment.extra.remove(place)));
            false
        });
    }
}

/// Returns the mark of a dialog: its method, and the beginning of its text.
fn mark(rules: &Rules, dialog: &Frame) -> String {
    const LENGTH: usize = 24;
    let mark: String = mark_text(rules, dialog).unwrap_or_default().chars().take(LENGTH).collect();
    // Some texts, such as counters, are equal only up to the equals sign.
    format!("{} {}", dialog.name, mark.split('=').next().unwrap_or_default())
}

/// Returns the text that identifies a dialog among others of its method.
fn mark_text<'f>(rules: &Rules, dialog: &'f Frame) -> Option<&'f str> {
    let frame = dialog.value.get("params").unwrap_or(&dialog.value);
    rules.tables.matching.dialog_keys.iter().find_map(|mark| frame.get(mark)?.as_str())
}
