//! Parameters whose names differ between revisions. Input and output are lines or raw JSON objects.

use std::borrow::Cow;

use crate::scan::{self, MemberSet, member};
use crate::spec::Spec;

/// Converts the line of a command from the parameter names of the oldest revision to those of `revision`. If
/// the revision is unknown, adds the other names, unless the line would then be too long for a revision.
/// `client` contains the tables of the client. Returns the same line if nothing changes.
pub fn line<'a>(
    client: &Spec,
    revision: Option<&'static Spec>,
    command: &str,
    line: &'a str,
) -> Cow<'a, str> {
    let of = |spec: &Spec| spec.command(command).map_or(&[][..], |row| row.renamed);
    let names = of(client);
    if names.is_empty() {
        return Cow::Borrowed(line);
    }
    if let Some(revision) = revision {
        return renamed(line, of(revision));
    }
    // Tables of one revision have the names of that revision.
    if client.revisions.is_empty() {
        return renamed(line, names);
    }
    let all = with_both(line, names);
    match client.revisions.iter().filter_map(|spec| spec.edges.longest_command).min() {
        Some(most) if all.len() as u64 > most => Cow::Borrowed(line),
        _ => all,
    }
}

/// Adds a copy of each listed member to the object, under the name that the member has in other revisions.
pub(crate) fn with_both<'a>(members: &'a str, names: &[(&'static str, &'static str)]) -> Cow<'a, str> {
    let mut all = Cow::Borrowed(members);
    for (name, later) in names {
        let more = value(&all, name, later).map(|value| format!(",\"{later}\":{value}}}"));
        if let (Some(more), Some(head)) = (more, all.trim_end().strip_suffix('}')) {
            all = Cow::Owned(format!("{head}{more}"));
        }
    }
    all
}

/// Renames each listed member of the object to the name that it has in other revisions.
pub(crate) fn renamed<'a>(members: &'a str, names: &[(&'static str, &'static str)]) -> Cow<'a, str> {
    let mut all = Cow::Borrowed(members);
    for (name, later) in names {
        let key = value(&all, name, later).and_then(|value| {
            // The name directly precedes its value.
            let before = &all[..value.as_ptr() as usize - all.as_ptr() as usize];
            before.rfind(&format!("\"{name}\"")).map(|at| at + 1)
        });
        if let Some(at) = key {
            let (head, rest) = (&all[..at], &all[at + name.len()..]);
            all = Cow::Owned(format!("{head}{later}{rest}"));
        }
    }
    all
}

/// Returns the value of a member. Returns `None` if it is absent, or if the object has a member with the other
/// name too.
fn value<'a>(object: &'a str, name: &'static str, later: &'static str) -> Option<&'a str> {
    let found = scan::scan(object, &MemberSet::new([member(name), member(later)])).ok()?;
    found.get(0).filter(|_| found.get(1).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[(&str, &str)] = &[("text", "message")];

    #[test]
    fn a_member_has_one_name_or_both() {
        let members = r#"{"options":{"text":1},"text":"a \"text\": b","n":12345678901234567890}"#;
        assert_eq!(
            renamed(members, NAMES),
            r#"{"options":{"text":1},"message":"a \"text\": b","n":12345678901234567890}"#
        );
        assert_eq!(with_both(r#"{"text":"hi"}"#, NAMES), r#"{"text":"hi","message":"hi"}"#);
    }

    #[test]
    fn absent_and_already_renamed_members_stay() {
        for members in ["{}", r#"{"other":1}"#, r#"{"message":"hi"}"#, r#"{"text":"a","message":"b"}"#] {
            assert_eq!(renamed(members, NAMES), members);
            assert_eq!(with_both(members, NAMES), members);
        }
    }
}
