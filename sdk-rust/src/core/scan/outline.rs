//! An outline: the positions of an object's members, recorded for later access.

/// Offsets into the text in bytes: start and end of a member's name, start and end of its value. The quotes of
/// the name are excluded; its escapes remain.
pub type MemberSpan = [u32; 4];

/// The positions of the members of an object, and of the members of its inner objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outline {
    members: Vec<MemberSpan>,
    /// The members of all inner objects, in order.
    inner: Vec<MemberSpan>,
}

impl Outline {
    /// Returns `true` if a text of the given length can have an outline.
    pub fn fits(length: usize) -> bool {
        u32::try_from(length).is_ok()
    }

    /// Returns the size in memory, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + (self.members.capacity() + self.inner.capacity()) * size_of::<MemberSpan>()
    }

    /// Returns the members of the object, in order.
    pub fn members(&self) -> &[MemberSpan] {
        &self.members
    }

    /// Returns the members of the inner object from `start` to `end`. Returns an empty list if they were not
    /// recorded.
    pub fn inner(&self, start: u32, end: u32) -> &[MemberSpan] {
        let from = self.inner.partition_point(|place| place[0] < start);
        let to = self.inner.partition_point(|place| place[0] < end);
        &self.inner[from..to]
    }

    pub(super) fn push_member(&mut self, place: MemberSpan) {
        self.members.push(place);
    }

    pub(super) fn push_inner(&mut self, place: MemberSpan) {
        self.inner.push(place);
    }

    /// Returns the number of recorded inner members.
    pub(super) fn inner_count(&self) -> usize {
        self.inner.len()
    }

    /// Removes all inner members except the first `noted`.
    pub(super) fn truncate_inner(&mut self, noted: usize) {
        self.inner.truncate(noted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{MemberSet, inner, member, members, scan, scan_and_outline};

    const WANTED: MemberSet<3> = MemberSet::new([member("type"), member("a"), inner("event", "type")]);

    fn places(text: &str, from: usize) -> Vec<MemberSpan> {
        let mut places = Vec::new();
        let at = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize + from;
        let place = |name: &str, value: &str| {
            [at(name), at(name) + name.len(), at(value), at(value) + value.len()].map(|at| at as u32)
        };
        members(text, |name, value| places.push(place(name, value))).unwrap();
        places
    }

    #[test]
    fn member_spans_agree_with_the_scan() {
        for text in [
            "{}",
            r#" { "type" : "x" , "a\u0062" : [ { "n" : 1 } ] , "o" : { "p" : { "q" : "}" } , "r" : [ ] } } "#,
            r#"{"o":{"a":1,"a":2},"o":{"b":"\""},"type":null,"event":{"type":"x"},"a":{"é":{}}}"#,
        ] {
            let (found, outline) = scan_and_outline(text, &WANTED).unwrap();
            assert_eq!(found, scan(text, &WANTED).unwrap());
            assert_eq!(outline.members(), places(text, 0));
            for &[name, name_end, from, to] in outline.members() {
                let value = &text[from as usize..to as usize];
                let known = outline.inner(from, to);
                // The members of wanted members are not recorded.
                let noted = value.starts_with('{') && &text[name as usize..name_end as usize] != "event";
                assert_eq!(known, if noted { places(value, from as usize) } else { Vec::new() }, "{value}");
            }
        }
    }

    #[test]
    fn size_and_fitting_texts_are_reported() {
        let (_, outline) = scan_and_outline(r#"{"a":1,"o":{"b":1}}"#, &WANTED).unwrap();
        assert!(outline.size() >= size_of::<Outline>() + 3 * 16, "{}", outline.size());
        assert!(Outline::fits(u32::MAX as usize));
        #[cfg(target_pointer_width = "64")]
        assert!(!Outline::fits(1 << 32));
    }

    #[test]
    fn errors_inside_members_are_skipped_as_without_an_outline() {
        for text in
            [r#"{"a":{"b" 1},"c":{"d":1}}"#, r#"{"a":{"b":1,},"c":{"d":1}}"#, r#"{"a":{1:2},"c":{"d":1}}"#]
        {
            let (found, outline) = scan_and_outline(text, &WANTED).unwrap();
            assert_eq!(found, scan(text, &WANTED).unwrap());
            let [first, second] = outline.members() else { panic!("{outline:?}") };
            assert_eq!(outline.inner(first[2], first[3]), &[] as &[MemberSpan]);
            assert_eq!(outline.inner(second[2], second[3]).len(), 1);
        }
        assert!(scan_and_outline(r#"{"a":{"b":1]}"#, &WANTED).is_err());
    }
}
