//! Tests that the schema and the typed decoder reject damaged frames.

use std::collections::{BTreeMap, HashMap};

use agentese::frame::{ClientFrame, ServerFrame};
use agentese::framing::FrameText;
use agentese::spec::Dialect;
use agentese::{omp, opal, operator, pi, pisces};
use agentese_conformance::transcript::recorded;
use agentese_protocol::Index;
use agentese_protocol::model::{Shape, Ty};
use serde_json::{Value, json};

use crate::exceptions;
use crate::sites::{self, Sites, put, types};
use crate::validators::{RecordedFrame, Validators, recorded_frames};

/// Number of damaged frames for each kind of declared member.
const EACH: usize = 2;

/// Returns values that a declared type does not allow.
fn wrong(ty: &Ty) -> Vec<Value> {
    match ty {
        Ty::String => vec![json!(42), json!({}), json!(null)],
        Ty::Boolean => vec![json!("yes"), json!(1), json!(null)],
        Ty::Integer | Ty::Count | Ty::Number => vec![json!("seven"), json!(true), json!([])],
        Ty::Object | Ty::Map(_) => vec![json!("text"), json!([1]), json!(7)],
        Ty::List(_) => vec![json!("text"), json!({}), json!(7)],
        Ty::Any => vec![],
        Ty::Named(name) => match types().get(name).map(|def| def.shape) {
            Some(Shape::Strings { open: false, .. }) => vec![json!("no-such-value"), json!(5)],
            Some(Shape::Strings { open: true, .. }) => vec![json!(5), json!({})],
            Some(Shape::Choice { .. }) => vec![json!(17), json!(null)],
            _ => vec![json!("text"), json!(17)],
        },
    }
}

/// Results for a damaged frame: `true` if the schema, or the decoder, accepts it.
struct Verdict {
    schema: bool,
    decoder: bool,
}

fn judge<D: Dialect>(validators: &Validators, seen: &RecordedFrame, frame: &Value) -> Verdict {
    let text = FrameText::from(frame.to_string());
    if seen.from_server {
        let method = seen.method.clone();
        Verdict {
            schema: validators.server_error(frame, seen.method.as_deref()).is_none(),
            decoder: ServerFrame::<D>::decode(&text, |_| method.clone()).is_ok(),
        }
    } else {
        Verdict {
            schema: validators.client.is_valid(frame),
            decoder: ClientFrame::<D>::decode(&text).is_ok(),
        }
    }
}

/// Counts of the damaged frames of one dialect.
#[derive(Default)]
struct Tally {
    damaged: usize,
    schema_missed: Vec<String>,
    decoder_missed: Vec<String>,
    closed_tags: usize,
    open_tags: usize,
    wrong_tags: Vec<String>,
}

fn damage<D: Dialect>(dialect: &str) -> Tally {
    let index = Index::named(dialect).unwrap();
    let validators = Validators::new(dialect);
    let exceptions = exceptions::load();
    let mut tally = Tally::default();
    let mut done: HashMap<String, usize> = HashMap::new();
    let mut tags_done: BTreeMap<String, usize> = BTreeMap::new();
    for (name, transcript) in recorded(dialect).unwrap() {
        if dialect == "operator" && name.starts_with("d02") {
            continue;
        }
        for seen in recorded_frames(&transcript) {
            let side = if seen.from_server { "server" } else { "client" };
            let Some(frame) = &seen.frame else { continue };
            if exceptions.contains_key(&(format!("{dialect}/{name}"), side.to_owned(), seen.number)) {
                continue;
            }
            let Sites { members, tags } = if seen.from_server {
                sites::server(&index, frame, seen.method.as_deref())
            } else {
                sites::client(&index, frame)
            };
            for site in members {
                let count = done.entry(format!("{side} {}", site.kind)).or_default();
                *count += 1;
                if *count > EACH {
                    continue;
                }
                let mut values: Vec<Option<Value>> = wrong(&site.ty)
                    .into_iter()
                    .filter(|value| !(value.is_null() && site.presence.is_nullable()))
                    .map(Some)
                    .collect();
                if site.presence.is_required() {
                    values.push(None);
                }
                for value in values {
                    let mut damaged = frame.clone();
                    let what = value.as_ref().map_or_else(|| "taken out".to_owned(), Value::to_string);
                    if !put(&mut damaged, &site.path, value) || damaged == *frame {
                        continue;
                    }
                    tally.damaged += 1;
                    let verdict = judge::<D>(&validators, &seen, &damaged);
                    let line = format!("{dialect}/{name} {side} {}: {} = {what}", seen.number, site.kind);
                    if verdict.schema {
                        tally.schema_missed.push(line.clone());
                    }
                    if verdict.decoder {
                        tally.decoder_missed.push(line);
                    }
                }
            }
            for tag in tags {
                let count = tags_done.entry(tag.kind.clone()).or_default();
                *count += 1;
                if *count > 40 {
                    continue;
                }
                let mut damaged = frame.clone();
                put(&mut damaged, &tag.path, Some(json!("mis_spelt")));
                let verdict = judge::<D>(&validators, &seen, &damaged);
                let right = if tag.open {
                    tally.open_tags += 1;
                    verdict.schema && verdict.decoder && keeps_bytes::<D>(&seen, &damaged)
                } else {
                    tally.closed_tags += 1;
                    !verdict.schema && !verdict.decoder
                };
                if !right {
                    tally.wrong_tags.push(format!("{dialect}/{name} {side} {}: {}", seen.number, tag.kind));
                }
            }
        }
    }
    tally
}

/// Checks that a frame with an unknown tag is decoded as an `Unknown` variant, is encoded to the same value,
/// and is passed on byte for byte.
fn keeps_bytes<D: Dialect>(seen: &RecordedFrame, frame: &Value) -> bool {
    let text = FrameText::from(frame.to_string());
    let method = seen.method.clone();
    let (shown, encoded) = if seen.from_server {
        match ServerFrame::<D>::decode(&text, |_| method.clone()) {
            Ok(frame) => (format!("{frame:?}"), frame.encode()),
            Err(_) => return false,
        }
    } else {
        match ClientFrame::<D>::decode(&text) {
            Ok(frame) => (format!("{frame:?}"), frame.encode()),
            Err(_) => return false,
        }
    };
    let same =
        encoded.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok()).as_ref() == Some(frame);
    same && shown.contains("UnknownVariant {") && shown.contains("mis_spelt")
}

fn check<D: Dialect>(dialect: &str) {
    let tally = damage::<D>(dialect);
    let part = |missed: usize| 100.0 * (tally.damaged - missed) as f64 / tally.damaged as f64;
    let (schema, decoder) = (part(tally.schema_missed.len()), part(tally.decoder_missed.len()));
    println!(
        "{dialect}: {} damages; refused by the schema {schema:.1} %, by the decoder {decoder:.1} %; \
         {} tags of closed sets, {} of open ones",
        tally.damaged, tally.closed_tags, tally.open_tags
    );
    let show = |lines: &[String]| lines.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(tally.damaged > 30, "{dialect}: only {} damages", tally.damaged);
    assert!(schema >= 95.0, "{dialect}: the schema accepts damage:\n{}", show(&tally.schema_missed));
    assert!(decoder >= 95.0, "{dialect}: the decoder accepts damage:\n{}", show(&tally.decoder_missed));
    assert!(tally.wrong_tags.is_empty(), "{dialect}: misspelt tags:\n{}", show(&tally.wrong_tags));
}

#[test]
fn damaged_pi_frames_are_refused() {
    check::<pi::Pi>("pi");
}

#[test]
fn damaged_omp_frames_are_refused() {
    check::<omp::Omp>("omp");
}

#[test]
fn damaged_pisces_frames_are_refused() {
    check::<pisces::Pisces>("pisces");
}

#[test]
fn damaged_operator_frames_are_refused() {
    check::<operator::Operator>("operator");
}

#[test]
fn damaged_opal_frames_are_refused() {
    check::<opal::Opal>("opal");
}
