//! Alignment of two streams of frames.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Result of the alignment of two lists: indexes of paired elements, and of elements without a
/// partner.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
    /// Pairs of equal elements whose order differs.
    pub(super) moved: Vec<(usize, usize)>,
}

/// Aligns two lists of elements by their marks. A mark is a text that identifies an element.
pub(super) fn align(golden: &[String], observed: &[String]) -> Alignment {
    let mut alignment = Alignment::default();
    if golden == observed {
        alignment.pairs = (0..golden.len()).map(|at| (at, at)).collect();
        return alignment;
    }
    for op in capture_diff_slices(Algorithm::Patience, golden, observed) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                alignment.pairs.extend((0..len).map(|at| (old_index + at, new_index + at)));
            }
            DiffOp::Delete { old_index, old_len, .. } => {
                alignment.missing.extend(old_index..old_index + old_len)
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                alignment.extra.extend(new_index..new_index + new_len)
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                alignment.missing.extend(old_index..old_index + old_len);
                alignment.extra.extend(new_index..new_index + new_len);
            }
        }
    }
    pair_moved(&mut alignment, golden, observed);
    alignment
}

/// Pairs each missing element with an equal additional element at another position.
fn pair_moved(alignment: &mut Alignment, golden: &[String], observed: &[String]) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for at in alignment.extra.iter().rev() {
        places.entry(&observed[*at]).or_default().push(*at);
    }
    alignment.missing.retain(|at| {
        let place = places.get_mut(golden[*at].as_str()).and_then(Vec::pop);
        alignment.moved.extend(place.map(|place| (*at, place)));
        place.is_none()
    });
    let taken: Vec<usize> = alignment.moved.iter().map(|(_, at)| *at).collect();
    alignment.extra.retain(|at| !taken.contains(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(golden: &str, observed: &str) -> Alignment {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        align(&letters(golden), &letters(observed))
    }

    #[test]
    fn missing_extra_and_moved_elements_are_distinguished() {
        let found = aligned("abc", "abc");
        assert_eq!((found.pairs.len(), found.missing.len(), found.extra.len()), (3, 0, 0));
        assert_eq!(aligned("abcd", "abd").missing, [2]);
        assert_eq!(aligned("abd", "abcd").extra, [2]);
        let swapped = aligned("abcd", "acbd");
        assert_eq!((swapped.missing.len(), swapped.extra.len(), swapped.moved.len()), (0, 0, 1));
    }
}
