//! What frames mean, as data that all languages read: one JSON value for each dialect.

use agentese_protocol::Index;
use agentese_protocol::dialect::Framing;
use agentese_protocol::meaning::{Act, Case, Constant, On, Reader, Rule, Slot, Source, Test, resolve};
use serde_json::{Map, Value, json};

/// The kinds of rows, as members of the table.
const KINDS: [&str; 5] = ["events", "sent", "answers", "refused", "dialogs"];

/// The table of a dialect.
pub fn table(index: &Index) -> Value {
    let dialect = index.dialect;
    let meaning = resolve(index);
    let mut table = Map::new();
    table.insert("dialect".into(), dialect.name.into());
    let framing = match dialect.framing {
        Framing::Flat => "flat",
        Framing::Enveloped => "enveloped",
        Framing::JsonRpc { notification } => {
            table.insert("notification".into(), notification.into());
            "json-rpc"
        }
    };
    table.insert("framing".into(), framing.into());
    if let Some(member) = dialect.event_members.first() {
        table.insert("session".into(), member.name.into());
    }
    if let Some(frames) = dialect.dialog_frames {
        table.insert("dialogFrames".into(), json!({"request": frames.request, "answer": frames.answer}));
    }
    table.insert("asks".into(), json!(meaning.asks));
    let readers = meaning.readers.iter().map(|(row, cases)| (row.name.to_owned(), reader(row, cases)));
    table.insert("readers".into(), Value::Object(readers.collect()));
    for kind in KINDS {
        let mut rows = Map::new();
        for rule in &meaning.rules {
            let (of, name) = place(rule.on);
            if of != kind {
                continue;
            }
            let rules = rows.entry(name).or_insert_with(|| json!([]));
            rules.as_array_mut().expect("an array was put there").push(self::rule(rule));
        }
        table.insert(kind.into(), Value::Object(rows));
    }
    Value::Object(table)
}

/// The table as text: a line for each rule and each case.
pub fn text(table: &Value) -> String {
    let mut out = String::new();
    write(&mut out, table, 0);
    out
}

fn write(out: &mut String, value: &Value, depth: usize) {
    let Value::Object(members) = value else { return lines(out, value, depth) };
    if depth > 2 || members.is_empty() {
        out.push_str(&value.to_string());
        return;
    }
    out.push_str("{\n");
    for (place, (name, member)) in members.iter().enumerate() {
        out.push_str(&"  ".repeat(depth + 1));
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push_str(": ");
        write(out, member, depth + 1);
        out.push_str(if place + 1 == members.len() { "\n" } else { ",\n" });
    }
    out.push_str(&"  ".repeat(depth));
    out.push('}');
}

fn lines(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(items) if items.iter().any(Value::is_object) => {
            out.push_str("[\n");
            for (place, item) in items.iter().enumerate() {
                out.push_str(&"  ".repeat(depth + 1));
                out.push_str(&item.to_string());
                out.push_str(if place + 1 == items.len() { "\n" } else { ",\n" });
            }
            out.push_str(&"  ".repeat(depth));
            out.push(']');
        }
        value => out.push_str(&value.to_string()),
    }
}

fn place(on: On) -> (&'static str, &'static str) {
    match on {
        On::Event(name) => ("events", name),
        On::Sent(name) => ("sent", name),
        On::Answer(name) => ("answers", name),
        On::Refused(name) => ("refused", name),
        On::Dialog(name) => ("dialogs", name),
    }
}

fn reader(reader: &Reader, cases: &[Case]) -> Value {
    let cases: Vec<Value> = cases
        .iter()
        .map(|case| {
            let mut value = Map::new();
            value.insert("tag".into(), case.tag.into());
            conditions(&mut value, case.when);
            value.insert("gives".into(), slots(case.gives));
            Value::Object(value)
        })
        .collect();
    json!({"tag": reader.tag, "cases": cases})
}

fn rule(rule: &Rule) -> Value {
    let mut value = Map::new();
    value.insert("act".into(), act(rule.act).into());
    conditions(&mut value, rule.when);
    if let Some(list) = rule.over {
        value.insert("over".into(), list.into());
    }
    value.insert("slots".into(), slots(rule.slots));
    Value::Object(value)
}

fn conditions(value: &mut Map<String, Value>, tests: &[Test]) {
    if tests.is_empty() {
        return;
    }
    let tests = tests.iter().map(|test| match *test {
        Test::Is(path, text) => json!({"is": [path, text]}),
        Test::Not(path, text) => json!({"not": [path, text]}),
        Test::Has(path) => json!({"has": path}),
        Test::Lacks(path) => json!({"lacks": path}),
    });
    value.insert("when".into(), tests.collect());
}

fn slots(slots: &[Slot]) -> Value {
    Value::Object(slots.iter().map(|(name, source)| ((*name).to_owned(), self::source(source))).collect())
}

fn source(source: &Source) -> Value {
    match source {
        Source::At(path) => json!(path),
        Source::Is(value) => json!({"is": constant(*value)}),
        Source::Read(reader, path) => json!({"read": reader, "of": path}),
        Source::Each(reader, path) => json!({"each": reader, "of": path}),
        Source::Map(path, values) => {
            let values = values.iter().map(|(from, to)| ((*from).to_owned(), constant(*to)));
            json!({"map": path, "to": Value::Object(values.collect())})
        }
        Source::Times(path, factor) => json!({"times": factor, "of": path}),
        Source::Text(path) => json!({"text": path}),
        Source::Count(path) => json!({"count": path}),
        Source::First(sources) => json!({"first": sources.iter().map(self::source).collect::<Vec<_>>()}),
        Source::Join(sources) => json!({"join": sources.iter().map(self::source).collect::<Vec<_>>()}),
    }
}

fn constant(value: Constant) -> Value {
    match value {
        Constant::Text(text) => text.into(),
        Constant::Flag(flag) => flag.into(),
        Constant::Number(number) => number.into(),
    }
}

fn act(act: Act) -> &'static str {
    match act {
        Act::Work => "work",
        Act::Abort => "abort",
        Act::Begin => "begin",
        Act::Snapshot => "snapshot",
        Act::Piece => "piece",
        Act::Block => "block",
        Act::Message => "message",
        Act::End => "end",
        Act::Tool => "tool",
        Act::History => "history",
        Act::Count => "count",
        Act::Replace => "replace",
        Act::Set => "set",
        Act::Keep => "keep",
        Act::Usage => "usage",
        Act::Arrive => "arrive",
        Act::Wait => "wait",
        Act::Waited => "waited",
        Act::Queue => "queue",
        Act::Compacting => "compacting",
        Act::Compacted => "compacted",
        Act::Retry => "retry",
        Act::Retried => "retried",
        Act::Ask => "ask",
        Act::Withdraw => "withdraw",
        Act::Notice => "notice",
        Act::Entry => "entry",
        Act::Draft => "draft",
        Act::Shell => "shell",
        Act::ShellOutput => "shellOutput",
        Act::ShellDone => "shellDone",
        Act::Task => "task",
        Act::Child => "child",
    }
}
