//! Alignment of dialogs by their marks.

use super::align::Aligned;
use super::reading::Frame;
use super::rules::Rules;

/// Aligns the dialogs of two transcripts.
pub(super) fn align(rules: &Rules, was: &[Frame], came: &[Frame]) -> Aligned {
    let marks =
        |dialogs: &[Frame]| -> Vec<String> { dialogs.iter().map(|dialog| mark(rules, dialog)).collect() };
    let mut aligned = super::align::align(&marks(was), &marks(came));
    near(rules, was, came, &mut aligned);
    aligned
}

/// Pairs missing dialogs with extra ones: of the same method, or of another method with the same text.
fn near(rules: &Rules, was: &[Frame], came: &[Frame], aligned: &mut Aligned) {
    let words = |dialog: &Frame| words(rules, dialog).map(str::to_owned);
    for same_method in [true, false] {
        aligned.missing.retain(|g| {
            let was = &was[*g];
            let is_meant = |came: &Frame| match same_method {
                true => was.name == came.name,
                false => words(was).is_some() && words(was) == words(came),
            };
            let Some(place) = aligned.extra.iter().position(|o| is_meant(&came[*o])) else { return true };
            aligned.pairs.push((*g, aligned.extra.remove(place)));
            false
        });
    }
}

/// Returns the mark of a dialog, which separates it from others of its method.
fn mark(rules: &Rules, dialog: &Frame) -> String {
    const LENGTH: usize = 24;
    let mark: String = words(rules, dialog).unwrap_or_default().chars().take(LENGTH).collect();
    // Texts such as counters differ after their name.
    format!("{} {}", dialog.name, mark.split('=').next().unwrap_or_default())
}

/// Returns the text that separates a dialog from others: the first of its marks.
fn words<'f>(rules: &Rules, dialog: &'f Frame) -> Option<&'f str> {
    let frame = dialog.value.get("params").unwrap_or(&dialog.value);
    rules.tables.matching.dialog_marks.iter().find_map(|mark| frame.get(mark)?.as_str())
}
