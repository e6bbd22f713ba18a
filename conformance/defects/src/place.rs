//! Places within a line of JSON, and changes to the text there.
//!
//! A change edits the text of the line, so that all other bytes stay the same, even the spelling of
//! numbers.

use std::fmt;
use std::ops::Range;

use agentese::scan;

/// A step into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The member of an object.
    Member(String),
    /// The item of an array.
    Item(usize),
}

/// Place in a frame, as steps from the outermost one on. An empty place is the frame itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Place(pub Vec<PathStep>);

impl Place {
    /// Returns the place of a member of this object.
    pub fn member(&self, name: &str) -> Self {
        self.join(PathStep::Member(name.to_owned()))
    }

    /// Returns the place of an item of this array.
    pub fn item(&self, at: usize) -> Self {
        self.join(PathStep::Item(at))
    }

    fn join(&self, step: PathStep) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// Returns the member name of the last step.
    pub fn name(&self) -> Option<&str> {
        match self.0.last() {
            Some(PathStep::Member(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns `true` if this place is `outer` or lies within it.
    pub fn is_within(&self, outer: &Place) -> bool {
        self.0.starts_with(&outer.0)
    }

    /// Returns the value at this place.
    pub fn of<'a>(&self, frame: &'a serde_json::Value) -> Option<&'a serde_json::Value> {
        self.0.iter().try_fold(frame, |value, step| match step {
            PathStep::Member(name) => value.get(name),
            PathStep::Item(at) => value.get(at),
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Member(name) if at == 0 => write!(out, "{name}")?,
                PathStep::Member(name) => write!(out, ".{name}")?,
                PathStep::Item(item) => write!(out, "[{item}]")?,
            }
        }
        Ok(())
    }
}

/// Change of the value at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Replaces the value with this JSON text.
    Put(String),
    /// Renames the member to this name.
    Rename(String),
    /// Removes the member or the item.
    Remove,
    /// Adds the same member a second time, with this JSON text, after the first.
    Duplicate(String),
    /// Adds a member with this name and this JSON text at the front of the object.
    Add(String, String),
}

/// Byte range of a value in a line, and of its name if it is a member.
struct ValueSpan {
    key: Option<Range<usize>>,
    value: Range<usize>,
}

impl ValueSpan {
    /// Returns the range of the item, or of the member with its name.
    fn whole(&self) -> Range<usize> {
        self.key.as_ref().map_or(self.value.start, |key| key.start)..self.value.end
    }
}

/// Returns the range of the value in the line.
pub fn span(line: &str, place: &Place) -> Option<Range<usize>> {
    find(line, place).map(|found| found.value)
}

fn find(line: &str, place: &Place) -> Option<ValueSpan> {
    // White space is skipped, because `scan` then does not search inside strings.
    let trimmed = line.trim_ascii();
    let start = offset(line, trimmed);
    let mut found = ValueSpan { key: None, value: start..start + trimmed.len() };
    for step in &place.0 {
        let outer = &line[found.value.clone()];
        let mut inner = None;
        match step {
            PathStep::Member(wanted) => scan::members(outer, |name, value| {
                if scan::is_named(name, wanted) {
                    let key = offset(line, name) - 1;
                    inner = Some((Some(key..key + name.len() + 2), value));
                }
            })
            .ok()?,
            PathStep::Item(wanted) => {
                let mut at = 0;
                let _: Result<(), ()> = scan::items(outer, |value| {
                    if at == *wanted {
                        inner = Some((None, value));
                    }
                    at += 1;
                    Ok(())
                })
                .ok()?;
            }
        }
        let (key, value) = inner?;
        let start = offset(line, value);
        found = ValueSpan { key, value: start..start + value.len() };
    }
    Some(found)
}

/// Returns the offset of a part within a text.
fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Applies one edit to the line. Returns `None` if the place does not exist.
pub fn edited(line: &str, place: &Place, edit: &Edit) -> Option<String> {
    let found = find(line, place)?;
    let replaced = |range: Range<usize>, text: &str| {
        let mut line = line.to_owned();
        line.replace_range(range, text);
        line
    };
    Some(match edit {
        Edit::Put(text) => replaced(found.value, text),
        Edit::Rename(name) => replaced(found.key?, &quoted(name)),
        Edit::Remove => replaced(with_comma(line, &found.whole()), ""),
        Edit::Duplicate(text) => {
            let key = &line[found.key?];
            replaced(found.value.end..found.value.end, &format!(",{key}:{text}"))
        }
        Edit::Add(name, text) => {
            let inside = found.value.start + 1;
            let comma = if line[inside..].trim_ascii_start().starts_with('}') { "" } else { "," };
            replaced(inside..inside, &format!("{}:{text}{comma}", quoted(name)))
        }
    })
}

/// Extends the range of a member or an item to include its comma.
fn with_comma(line: &str, whole: &Range<usize>) -> Range<usize> {
    let behind = line[whole.end..].trim_ascii_start();
    if let Some(rest) = behind.strip_prefix(',') {
        return whole.start..offset(line, rest.trim_ascii_start());
    }
    let before = line[..whole.start].trim_ascii_end();
    whole.start.min(before.strip_suffix(',').map_or(whole.start, |before| before.trim_ascii_end().len()))
        ..whole.end
}

/// Encodes a text as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#" {"a": 1, "b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#;

    fn place(steps: &[&str]) -> Place {
        steps.iter().fold(Place::default(), |place, step| match step.parse() {
            Ok(at) => place.item(at),
            Err(_) => place.member(step),
        })
    }

    #[test]
    fn an_edit_changes_only_its_place() {
        let check = |steps: &[&str], edit: Edit, expected: &str| {
            assert_eq!(edited(LINE, &place(steps), &edit).as_deref(), Some(expected), "{steps:?}");
        };
        let put = |text: &str| Edit::Put(text.to_owned());
        check(&["a"], put("2"), r#" {"a": 2, "b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#);
        check(
            &["b", "c", "1", "d"],
            put("9"),
            r#" {"a": 1, "b":{"c":[10,{"d" : 9} , 12]},"e":[] ,"f":{ }} "#,
        );
        check(&["b", "c", "2"], Edit::Remove, r#" {"a": 1, "b":{"c":[10,{"d" : "x"}]},"e":[] ,"f":{ }} "#);
        check(&["b", "c", "0"], Edit::Remove, r#" {"a": 1, "b":{"c":[{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#);
        check(&["a"], Edit::Remove, r#" {"b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#);
        check(&["f"], Edit::Remove, r#" {"a": 1, "b":{"c":[10,{"d" : "x"} , 12]},"e":[]} "#);
        check(
            &["b"],
            Edit::Rename("g".to_owned()),
            r#" {"a": 1, "g":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#,
        );
        check(
            &["a"],
            Edit::Duplicate("3".to_owned()),
            r#" {"a": 1,"a":3, "b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#,
        );
        let add = || Edit::Add("n".to_owned(), "1".to_owned());
        check(&["f"], add(), r#" {"a": 1, "b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{"n":1 }} "#);
        check(&[], add(), r#" {"n":1,"a": 1, "b":{"c":[10,{"d" : "x"} , 12]},"e":[] ,"f":{ }} "#);
    }

    #[test]
    fn a_missing_place_returns_none() {
        assert_eq!(edited(LINE, &place(&["b", "x"]), &Edit::Remove), None);
        assert_eq!(edited(LINE, &place(&["b", "c", "3"]), &Edit::Remove), None);
        assert_eq!(edited("no frame", &place(&["b"]), &Edit::Remove), None);
    }

    #[test]
    fn a_place_is_formatted_as_a_path() {
        assert_eq!(place(&["b", "c", "1", "d"]).to_string(), "b.c[1].d");
    }
}
