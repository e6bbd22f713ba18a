//! The commands of a dialect with their parameters, as the schema of its clients' frames has them.

use agentese::dynamic;
use agentese::schema::{self, Side};
use agentese::spec::Spec;
use serde_json::{Map, Value};

/// A command.
#[derive(Debug, Clone)]
pub(super) struct Command {
    /// Its name on the wire.
    pub name: &'static str,
    /// The name of the clients' helper.
    pub alias: &'static str,
    /// What it does.
    pub doc: String,
    pub params: Vec<Param>,
}

/// A parameter.
#[derive(Debug, Clone)]
pub(super) struct Param {
    /// Its name on the wire.
    pub name: String,
    pub doc: String,
    pub required: bool,
    pub kind: Kind,
}

/// What a parameter's value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Switch,
    /// One of these strings.
    Choice(Vec<String>),
    /// Several strings.
    Texts,
    /// Anything else, said as JSON.
    Json,
}

/// A dialect as a client sees it.
pub(super) struct Grammar {
    /// The tables of its clients.
    pub spec: &'static Spec,
    /// The revision that was named.
    pub revision: Option<&'static Spec>,
    pub commands: Vec<Command>,
}

/// Reads the commands of `NAME`, which are those of all its revisions, or of `NAME@REVISION`.
///
/// # Errors
/// Where there is no such dialect or revision.
pub(super) fn grammar(dialect: &str) -> Result<Grammar, agentese::Error> {
    let (spec, revision) = dynamic::client(dialect)?;
    let revisions = match revision {
        Some(revision) => vec![revision],
        None if spec.revisions.is_empty() => vec![spec],
        None => spec.revisions.to_vec(),
    };
    let mut commands: Vec<Command> = Vec::new();
    // What a younger revision says of a command counts; what only an older one has is kept.
    let all = revision.is_none();
    for revision in revisions.into_iter().rev() {
        for mut command in of_revision(revision) {
            if all {
                command.named_as_at_first(revision);
            }
            match commands.iter_mut().find(|known| known.name == command.name) {
                None => commands.push(command),
                Some(known) => {
                    let added = |param: &Param| known.params.iter().all(|one| one.name != param.name);
                    let added: Vec<_> = command.params.into_iter().filter(added).collect();
                    known.params.extend(added.into_iter().map(|param| Param { required: false, ..param }));
                }
            }
        }
    }
    Ok(Grammar { spec, revision, commands })
}

impl Command {
    /// Parameters that the revision calls otherwise have the names of the document, under which clients take them.
    fn named_as_at_first(&mut self, revision: &Spec) {
        let renamed = revision.command(self.name).map_or(&[][..], |command| command.renamed);
        for param in &mut self.params {
            if let Some((first, _)) = renamed.iter().find(|(_, later)| *later == param.name) {
                param.name = (*first).to_owned();
            }
        }
    }
}

fn of_revision(spec: &'static Spec) -> Vec<Command> {
    let text = schema::schema(&spec.id(), Side::Client).unwrap_or_default();
    let schema: Value = serde_json::from_str(text).unwrap_or_default();
    let mut found = Vec::new();
    visit(&schema, &schema, spec, &mut found);
    found
}

/// Goes through the alternatives of a frame, which may have alternatives of their own.
fn visit(schema: &Value, place: &Value, spec: &'static Spec, found: &mut Vec<Command>) {
    for alternative in place["oneOf"].as_array().into_iter().flatten() {
        let frame = resolved(schema, alternative);
        if frame.get("oneOf").is_some() {
            visit(schema, frame, spec, found);
            continue;
        }
        let members = &frame["properties"];
        // Flat dialects name a command by its type and have the parameters beside it; JSON-RPC has both elsewhere.
        let (name, params) = match members["type"]["const"].as_str() {
            Some(name) => (name, frame),
            None => (
                members["method"]["const"].as_str().unwrap_or_default(),
                resolved(schema, &members["params"]),
            ),
        };
        let Some(command) = spec.command(name) else { continue };
        found.push(Command {
            name: command.wire,
            alias: command.name,
            doc: text(frame).unwrap_or_default(),
            params: params_of(schema, params),
        });
    }
}

fn params_of(schema: &Value, record: &Value) -> Vec<Param> {
    let required =
        |name: &str| record["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let none = Map::new();
    let members = record["properties"].as_object().unwrap_or(&none);
    let own = members.iter().filter(|(name, member)| *name != "id" && member.get("const").is_none());
    own.map(|(name, member)| Param {
        name: name.clone(),
        doc: text(member).unwrap_or_default(),
        required: required(name),
        kind: kind(schema, resolved(schema, member)),
    })
    .collect()
}

fn kind(schema: &Value, member: &Value) -> Kind {
    if let Some(words) = member["enum"].as_array() {
        return Kind::Choice(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect());
    }
    match member["type"].as_str() {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Switch,
        Some("array") if resolved(schema, &member["items"])["type"] == "string" => Kind::Texts,
        _ => Kind::Json,
    }
}

fn resolved<'a>(schema: &'a Value, place: &'a Value) -> &'a Value {
    let name = place["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.map_or(place, |name| &schema["$defs"][name])
}

fn text(place: &Value) -> Option<String> {
    Some(place["description"].as_str()?.replace('\n', " "))
}
