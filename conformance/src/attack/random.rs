//! Random commands that follow the declaration. Most are valid; some have values of a wrong
//! type.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::codec::{DialectCodec, record};
use crate::matching::Rules;
use crate::matching::tables::{Command, Constant, Field, Shape, Ty};

/// Texts that are harmless in any position: as a message, a name, a path, a shell command.
const TEXTS: [&str; 12] = [
    "",
    "alpha",
    "notes.txt",
    "ü 🙂 \u{2028} \u{7f}",
    "true",
    "-",
    "a b",
    "../nowhere",
    "0",
    "/dev/null/x.jsonl",
    "\u{0}",
    "fake-anthropic",
];

/// Percentage of values with a wrong type.
const WRONG: u8 = 15;
/// Maximum nesting depth of lists and records.
const DEEPEST: usize = 4;

/// Returns a random command and its line.
pub(super) fn command(codec: &DialectCodec, rng: &mut Rng, id: &str) -> (&'static Command, String) {
    let all = codec.commands();
    let command = &all[rng.usize(..all.len())];
    let params = command.params.and_then(record).map(|fields| members(fields, rng, 0)).unwrap_or_default();
    (command, codec.line(id, command.wire, params))
}

fn members(fields: &'static [Field], rng: &mut Rng, depth: usize) -> Map<String, Value> {
    let mut members = Map::new();
    for field in fields {
        // A required parameter may also be missing; the rejection is then the answer.
        let there = if field.required { rng.u8(..100) >= WRONG / 3 } else { rng.bool() };
        if there {
            let null = field.nullable && rng.u8(..4) == 0;
            members
                .insert(field.name.to_owned(), if null { Value::Null } else { value(&field.ty, rng, depth) });
        }
    }
    members
}

fn value(ty: &'static Ty, rng: &mut Rng, depth: usize) -> Value {
    if rng.u8(..100) < WRONG || depth > DEEPEST {
        return invalid_value(rng);
    }
    match ty {
        Ty::String => json!(TEXTS[rng.usize(..TEXTS.len())]),
        Ty::Boolean => json!(rng.bool()),
        Ty::Integer => {
            [json!(0), json!(-1), json!(i64::MAX), json!(rng.i64(-1000..1000))][rng.usize(..4)].clone()
        }
        Ty::Count => [json!(0), json!(1), json!(u64::MAX), json!(rng.u64(..1000))][rng.usize(..4)].clone(),
        Ty::Number => [json!(0), json!(-0.5), json!(1e300), json!(rng.f64())][rng.usize(..4)].clone(),
        Ty::Any => invalid_value(rng),
        Ty::Object => json!({"a": 1}),
        Ty::List(item) => (0..rng.usize(..3)).map(|_| value(item, rng, depth + 1)).collect(),
        Ty::Map(item) => json!({ "a": value(item, rng, depth + 1) }),
        Ty::Named(name) => match Rules::named(name).map(|def| &def.shape) {
            Some(Shape::Record { fields, constants }) => {
                let mut object = members(fields, rng, depth + 1);
                for (name, constant) in *constants {
                    let constant = match constant {
                        Constant::String(text) => json!(text),
                        Constant::Boolean(is) => json!(is),
                    };
                    object.insert((*name).to_owned(), constant);
                }
                Value::Object(object)
            }
            Some(Shape::Strings { values, .. }) => json!(values[rng.usize(..values.len())]),
            Some(Shape::Choice { alternatives }) => {
                value(&alternatives[rng.usize(..alternatives.len())], rng, depth + 1)
            }
            Some(Shape::Union { variants, .. }) => {
                let fields = record(variants[rng.usize(..variants.len())]).unwrap_or_default();
                Value::Object(members(fields, rng, depth + 1))
            }
            None => invalid_value(rng),
        },
    }
}

/// Returns a random value, without regard to any declared type.
fn invalid_value(rng: &mut Rng) -> Value {
    let all = [
        json!(null),
        json!(true),
        json!(-7),
        json!(1.5),
        json!("x".repeat(rng.usize(..2000))),
        json!([[], {}]),
        json!({"": {"": []}}),
    ];
    all[rng.usize(..all.len())].clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_commands_of_every_kind() {
        for tables in crate::generated::DIALECTS {
            let codec = DialectCodec::of(tables.name).unwrap();
            let draw = |seed| {
                let mut rng = Rng::with_seed(seed);
                (0..400)
                    .map(|_| command(&codec, &mut rng, "x"))
                    .map(|(known, line)| (known.wire, line))
                    .collect()
            };
            let lines: Vec<(&str, String)> = draw(3);
            assert_eq!(lines, draw(3));
            assert_ne!(lines, draw(4));
            for (_, line) in &lines {
                assert!(line.ends_with('\n') && serde_json::from_str::<Value>(line).is_ok(), "{line}");
            }
            let drawn: std::collections::BTreeSet<&str> = lines.iter().map(|(wire, _)| *wire).collect();
            assert_eq!(drawn.len(), tables.commands.len(), "{}", tables.name);
        }
    }
}
