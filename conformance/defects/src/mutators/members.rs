//! Mutators that remove or rename members.

use super::{Effects, edit};
use crate::place::Edit;
use crate::site::{Kind, Site};
use crate::stream::Stream;
use crate::{Group, Mutator};

const fn members(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Members, find)
}

pub(super) const ALL: &[Mutator] = &[
    members("member-missing", "a member that has to be there is missing", |stream, at| {
        each(stream, at, |site| site.required.then_some(Edit::Remove))
    }),
    members(
        "optional-missing",
        "a member is missing that may, but that this agent has here",
        |stream, at| each(stream, at, |site| (!site.required).then_some(Edit::Remove)),
    )
    .sparing_growth(),
    members("member-renamed", "a member's name has another ending", |stream, at| {
        each(stream, at, |site| Some(Edit::Rename(format!("{}s", site.place.name()?))))
    }),
    members("member-recased", "a member's name is written in the other case", |stream, at| {
        each(stream, at, |site| {
            let name = site.place.name()?;
            let other = recased(name);
            (other != name).then_some(Edit::Rename(other))
        })
    }),
];

/// Changes each declared member in turn.
fn each(stream: &Stream, at: usize, change: fn(&Site) -> Option<Edit>) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter().filter(|site| site.place.name().is_some());
    let sites = sites.filter(|site| {
        // In some places null is equivalent to an absent member. Another mutator covers null.
        (site.kind != Kind::Any || site.required) && !site.may_be_absent
    });
    sites.filter_map(|site| Some(edit(&site.place, change(site)?))).collect()
}

/// Converts `message_count` to `messageCount`, and vice versa.
fn recased(name: &str) -> String {
    if name.contains('_') {
        let mut words = name.split('_').filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default().to_owned();
        return words.fold(first, |name, word| {
            let mut letters = word.chars();
            let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
            name + &initial.into_iter().chain(letters).collect::<String>()
        });
    }
    name.chars().fold(String::new(), |mut name, letter| {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
        name
    })
}

#[cfg(test)]
mod tests {
    use super::recased;

    #[test]
    fn names_change_between_snake_and_camel_case() {
        assert_eq!(recased("messageCount"), "message_count");
        assert_eq!(recased("session_id"), "sessionId");
        assert_eq!(recased("type"), "type");
    }
}
