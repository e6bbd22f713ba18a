//! Mutators that replace a value by one of another type, or by another value of the same type.

use serde_json::{Value, json};

use super::{Effects, edit, put};
use crate::place::{Edit, Place};
use crate::site::{Kind, Site};
use crate::stream::Stream;
use crate::{Group, Mutator};

const fn values(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Values, find)
}

pub(super) const ALL: &[Mutator] = &[
    values("number-as-text", "a number is written as a text", |stream, at| {
        each(stream, at, |_, value| value.is_number().then(|| json!(value.to_string())))
    }),
    values("text-as-number", "a number stands in place of a text", |stream, at| {
        each(stream, at, |_, value| value.is_string().then(|| json!(1)))
    }),
    values("text-in-list", "a text stands in an array", |stream, at| {
        each(stream, at, |site, value| (value.is_string() && !site.several).then(|| json!([value])))
    }),
    values("boolean-as-text", "true or false is written as a text", |stream, at| {
        each(stream, at, |_, value| value.as_bool().map(|value| json!(value.to_string())))
    }),
    values("boolean-as-number", "true or false is written as 1 or 0", |stream, at| {
        each(stream, at, |_, value| value.as_bool().map(|value| json!(i32::from(value))))
    }),
    values("object-as-list", "an array stands in place of an object", |stream, at| {
        each(stream, at, |site, value| {
            let members = value.as_object().filter(|_| !site.several)?;
            Some(members.values().cloned().collect())
        })
    }),
    values("object-as-text", "an object is written as a text with its JSON", |stream, at| {
        each(stream, at, |_, value| value.is_object().then(|| json!(value.to_string())))
    }),
    values("list-as-object", "an object stands in place of an array", |stream, at| {
        each(stream, at, |_, value| {
            let items = value.as_array()?.iter().enumerate();
            Some(Value::Object(items.map(|(at, item)| (at.to_string(), item.clone())).collect()))
        })
    }),
    values("value-null", "null stands where it may not", |stream, at| {
        each(stream, at, |site, value| {
            (!site.nullable && !value.is_null() && site.required).then_some(Value::Null)
        })
    }),
    values("tag-renamed", "the tag that says what something is is another", |stream, at| {
        each(stream, at, |site, value| {
            let tag = value.as_str().filter(|_| site.kind == Kind::Constant)?;
            Some(json!(format!("{tag}_x")))
        })
    }),
    values("tag-other", "something says that it is something else that there is", other_tag),
    values("choice-other", "another one of a set of values stands there", |stream, at| {
        each(stream, at, |site, value| {
            let Kind::Choice { values, .. } = &site.kind else { return None };
            Some(json!(values.iter().find(|other| Some(other.as_str()) != value.as_str())?))
        })
    }),
    values("choice-unknown", "a value stands there that is not in the set", |stream, at| {
        each(stream, at, |site, value| {
            let value = value.as_str().filter(|_| matches!(site.kind, Kind::Choice { .. }))?;
            Some(json!(format!("{value}_x")))
        })
    }),
    values("boolean-flipped", "true stands in place of false, or the other way round", |stream, at| {
        each(stream, at, |site, value| {
            value.as_bool().filter(|_| site.kind == Kind::Boolean).map(|value| json!(!value))
        })
    }),
    values("count-one-more", "a number is one more", |stream, at| {
        each(stream, at, |_, value| Some(json!(value.as_i64()? + 1)))
    })
    .sparing_growth(),
    values("count-one-less", "a number is one less", |stream, at| {
        each(stream, at, |_, value| Some(json!(value.as_i64().filter(|value| *value > 0)? - 1)))
    })
    .sparing_growth(),
    values("number-zero", "a number is 0", |stream, at| {
        each(stream, at, |_, value| value.as_f64().filter(|value| *value != 0.0).map(|_| json!(0)))
    })
    .sparing_growth(),
    values("number-negative", "a number has the other sign", |stream, at| {
        each(stream, at, |_, value| {
            let number = value.as_f64().filter(|number| *number > 0.0)?;
            Some(value.as_i64().map_or_else(|| json!(-number), |number| json!(-number)))
        })
    })
    .sparing_growth(),
    values("number-tenfold", "a number is ten times as much", |stream, at| {
        each(stream, at, |_, value| {
            let number = value.as_f64().filter(|number| *number != 0.0)?;
            Some(value.as_i64().map_or_else(|| json!(number * 10.0), |number| json!(number * 10)))
        })
    })
    .sparing_growth(),
    values("item-missing", "an item of an array is missing", |stream, at| {
        items(stream, at, |place, items, at| {
            let mark = place.item(at);
            (at < items.len()).then(|| edit(&mark, Edit::Remove))
        })
    })
    .sparing_growth(),
    values("item-twice", "an item of an array is there twice", |stream, at| {
        items(stream, at, |place, items, at| {
            let mut items = items.to_vec();
            items.insert(at, items[at].clone());
            Some(put(place, Value::Array(items)))
        })
    }),
    values("items-swapped", "two items of an array stand in the wrong order", |stream, at| {
        items(stream, at, |place, items, at| {
            let mut items = items.to_vec();
            if items.get(at + 1)? == &items[at] {
                return None;
            }
            items.swap(at, at + 1);
            Some(put(place, Value::Array(items)))
        })
    }),
    values("list-empty", "an array is empty", |stream, at| {
        each(stream, at, |_, value| value.as_array().filter(|items| !items.is_empty()).map(|_| json!([])))
    })
    .sparing_growth(),
];

/// Replaces the value at each declared site by the result of `other`. Sites without a result are skipped.
fn each(stream: &Stream, at: usize, other: fn(&Site, &Value) -> Option<Value>) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter();
    sites
        .filter_map(|site| {
            let value = site.place.of(&line.frame)?;
            Some(put(&site.place, other(site, value)?))
        })
        .collect()
}

/// Changes one item of an array. The arguments are the array's place, its items, and the index of the item.
type ItemChange = fn(&Place, &[Value], usize) -> Option<(Place, crate::Effect)>;

/// Applies a change to each item of each array.
fn items(stream: &Stream, at: usize, change: ItemChange) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter().filter(|site| site.kind == Kind::Array);
    sites
        .flat_map(|site| {
            let items = site.place.of(&line.frame).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            (0..items.len()).filter_map(|at| change(&site.place, items, at)).collect::<Vec<_>>()
        })
        .collect()
}

/// Replaces a tag with the tag of an earlier frame at the same place.
fn other_tag(stream: &Stream, at: usize) -> Effects {
    each_tag(stream, at, |stream, at, place, tag| {
        // Only earlier frames are used, because the proxy does not have later ones.
        let others = stream.lines[..at].iter().filter_map(|said| {
            said.site(place).filter(|site| site.kind == Kind::Constant)?;
            place.of(&said.frame)?.as_str()
        });
        others.into_iter().find(|other| *other != tag).map(str::to_owned)
    })
}

fn each_tag(
    stream: &Stream,
    at: usize,
    other: fn(&Stream, usize, &Place, &str) -> Option<String>,
) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter().filter(|site| site.kind == Kind::Constant);
    sites
        .filter_map(|site| {
            let tag = site.place.of(&line.frame)?.as_str()?;
            Some(put(&site.place, json!(other(stream, at, &site.place, tag)?)))
        })
        .collect()
}
