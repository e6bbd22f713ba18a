//! Alignment of two streams of frames.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Indexes of matching elements in two lists, and of the elements without a partner.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
    /// Pairs whose order differs.
    pub(super) moved: Vec<(usize, usize)>,
}

/// Aligns two lists by the marks of their elements.
pub(super) fn align(golden: &[String], observed: &[String]) -> Aligned {
    let mut aligned = Aligned::default();
    if golden == observed {
        aligned.pairs = (0..golden.len()).map(|at| (at, at)).collect();
        return aligned;
    }
    for op in capture_diff_slices(Algorithm::Patience, golden, observed) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                aligned.pairs.extend((0..len).map(|at| (old_index + at, new_index + at)));
            }
            DiffOp::Delete { old_index, old_len, .. } => {
                aligned.missing.extend(old_index..old_index + old_len)
            }
            DiffOp::Insert { new_index, new_len, .. } => aligned.extra.extend(new_index..new_index + new_len),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                aligned.missing.extend(old_index..old_index + old_len);
                aligned.extra.extend(new_index..new_index + new_len);
            }
        }
    }
    moved(&mut aligned, golden, observed);
    aligned
}

/// Pairs elements that are missing in one place and extra in another.
fn moved(aligned: &mut Aligned, golden: &[String], observed: &[String]) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for at in aligned.extra.iter().rev() {
        places.entry(&observed[*at]).or_default().push(*at);
    }
    aligned.missing.retain(|at| {
        let place = places.get_mut(golden[*at].as_str()).and_then(Vec::pop);
        aligned.moved.extend(place.map(|place| (*at, place)));
        place.is_none()
    });
    let taken: Vec<usize> = aligned.moved.iter().map(|(_, at)| *at).collect();
    aligned.extra.retain(|at| !taken.contains(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(golden: &str, observed: &str) -> Aligned {
        let letters = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        align(&letters(golden), &letters(observed))
    }

    #[test]
    fn what_is_missing_extra_or_moved_is_told_apart() {
        let found = aligned("abc", "abc");
        assert_eq!((found.pairs.len(), found.missing.len(), found.extra.len()), (3, 0, 0));
        assert_eq!(aligned("abcd", "abd").missing, [2]);
        assert_eq!(aligned("abd", "abcd").extra, [2]);
        let swapped = aligned("abcd", "acbd");
        assert_eq!((swapped.missing.len(), swapped.extra.len(), swapped.moved.len()), (0, 0, 1));
    }
}
