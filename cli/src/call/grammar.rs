//! Commands of a dialect and their parameters, read from the schema of the client's frames.

use agentese::dynamic;
use agentese::schema::{self, Side};
use agentese::spec::Spec;
use serde_json::{Map, Value};

/// Command of a dialect.
#[derive(Debug, Clone)]
pub(super) struct Command {
    /// Wire name of the command.
    pub name: &'static str,
    /// Name of the method in clients.
    pub alias: &'static str,
    /// Description of the command.
    pub doc: String,
    pub params: Vec<Param>,
}

/// Parameter of a command.
#[derive(Debug, Clone)]
pub(super) struct Param {
    /// Wire name of the parameter.
    pub name: String,
    pub doc: String,
    pub required: bool,
    pub kind: ParamKind,
}

/// Type of a parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParamKind {
    Text,
    Integer,
    Number,
    Switch,
    /// One of these strings.
    Choice(Vec<String>),
    /// A list of strings.
    Texts,
    /// Any other value, given as JSON.
    Json,
}

/// Commands of a dialect, in the form that clients use.
pub(super) struct Grammar {
    /// Tables of the dialect's clients.
    pub spec: &'static Spec,
    /// Revision, if the dialect was given with one.
    pub revision: Option<&'static Spec>,
    pub commands: Vec<Command>,
}

/// Reads the commands of a dialect. `NAME` stands for the commands of all its revisions, and `NAME@REVISION`
/// for those of one revision.
///
/// # Errors
/// Fails if the dialect or revision does not exist.
pub(super) fn grammar(dialect: &str) -> Result<Grammar, agentese::Error> {
    let (spec, revision) = dynamic::client(dialect)?;
    let revisions = match revision {
        Some(revision) => vec![revision],
        None if spec.revisions.is_empty() => vec![spec],
        None => spec.revisions.to_vec(),
    };
    let mut commands: Vec<Command> = Vec::new();
    // Of several revisions with the same command, the newest one applies. Commands of older revisions are
    // added.
    let all = revision.is_none();
    for revision in revisions.into_iter().rev() {
        for mut command in of_revision(revision) {
            if all {
                command.restore_first_names(revision);
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
    /// Restores the oldest names of renamed parameters, which clients use for all revisions.
    fn restore_first_names(&mut self, revision: &Spec) {
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

/// Visits the alternatives of a frame schema recursively, and adds the commands among them to `found`.
fn visit(schema: &Value, place: &Value, spec: &'static Spec, found: &mut Vec<Command>) {
    for alternative in place["oneOf"].as_array().into_iter().flatten() {
        let frame = resolved(schema, alternative);
        if frame.get("oneOf").is_some() {
            visit(schema, frame, spec, found);
            continue;
        }
        let members = &frame["properties"];
        // Flat dialects name a command in `type`, with the parameters beside it. JSON-RPC has `method` and
        // `params`.
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

fn kind(schema: &Value, member: &Value) -> ParamKind {
    if let Some(words) = member["enum"].as_array() {
        return ParamKind::Choice(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect());
    }
    match member["type"].as_str() {
        Some("string") => ParamKind::Text,
        Some("integer") => ParamKind::Integer,
        Some("number") => ParamKind::Number,
        Some("boolean") => ParamKind::Switch,
        Some("array") if resolved(schema, &member["items"])["type"] == "string" => ParamKind::Texts,
        _ => ParamKind::Json,
    }
}

fn resolved<'a>(schema: &'a Value, place: &'a Value) -> &'a Value {
    let name = place["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    name.map_or(place, |name| &schema["$defs"][name])
}

fn text(place: &Value) -> Option<String> {
    Some(place["description"].as_str()?.replace('\n', " "))
}
