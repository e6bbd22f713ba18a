//! Player of `conformance/vectors/served.json`, the table that the tests of all languages share. Plays every row of a
//! dialect against the program.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentese::spec::Dialect;
use agentese::{Builder, ChildOptions, Events, Limit, RpcClient};
use serde_json::{Map, Value};

use super::{agentese, soon};

/// The rows that were played, and the frames that were received.
#[derive(Debug, Default)]
struct RowCoverage {
    commands: BTreeSet<String>,
    events: BTreeSet<String>,
}

/// Names of the dialogs that the client has received.
pub type ShownDialogs = Arc<Mutex<BTreeSet<String>>>;

fn json(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    serde_json::from_str(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap()
}

/// Plays all rows of a dialect. `make` returns a client whose handlers answer as the table states, and record their
/// calls.
pub async fn every_row<D: Dialect>(make: impl Fn(&Value, ShownDialogs) -> Builder<D>) {
    let (mut seen, shown_dialogs) = (RowCoverage::default(), ShownDialogs::default());
    for play in json("conformance/vectors/served.json")[D::SPEC.name].as_array().unwrap() {
        let place = tempfile::tempdir().unwrap();
        let child = child(play, D::SPEC.name, place.path());
        let client = make(&play["answers"], shown_dialogs.clone()).spawn(child).unwrap();
        let mut stage = RowPlayer {
            events: client.events().unwrap(),
            client,
            work: place.path().join("work"),
            variables: HashMap::new(),
        };
        stage.variables.insert("WORK".to_owned(), stage.work.to_str().unwrap().to_owned());
        for step in play["steps"].as_array().unwrap() {
            stage.step(step, &mut seen).await;
        }
        let end = soon("the end", stage.client.close()).await;
        assert_eq!(end.exit().and_then(|exit| exit.code), Some(0), "{}: {end}", play["name"]);
    }
    let model = json("protocol/model.json");
    let rows = model["dialects"].as_array().unwrap().iter().find(|row| row["name"] == D::SPEC.name).unwrap();
    let names = |kind: &str| -> BTreeSet<String> {
        let documented = rows[kind].as_array().unwrap().iter().filter(|row| row["undocumented"] != true);
        documented.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(seen.commands, names("commands"));
    let missing: Vec<_> = names("events").difference(&seen.events).cloned().collect();
    assert!(missing.is_empty(), "not received: {missing:?}");
    assert_eq!(*shown_dialogs.lock().unwrap(), names("dialogs"));
}

/// Writes the files for a play. Returns the command line of its agent.
fn child(play: &Value, dialect: &str, place: &Path) -> ChildOptions {
    let (work, home) = (place.join("work"), place.join("home"));
    for (name, text) in play["files"].as_object().unwrap() {
        let path = work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.as_str().unwrap()).unwrap();
    }
    std::fs::create_dir(&home).unwrap();
    let script = place.join("script.json");
    std::fs::write(&script, play["model"].to_string()).unwrap();
    let binary = agentese();
    let child = match play["agent"].as_str().unwrap() {
        "agentese" => {
            let words = ["--mode", "rpc", "--dialect", dialect, "--provider", "scripted", "--script"];
            ChildOptions::new(&binary).args(words).arg(script)
        }
        example => {
            ChildOptions::new(binary.with_file_name("examples").join(example)).arg(dialect).arg(script)
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let child = match play["extension"].as_str() {
        Some(extension) => child.arg("-e").arg(root.join(extension)),
        None => child,
    };
    let unset = ["AGENTESE_HOME", "OPAL_HOME", "OPAL_COPILOT_DOMAIN", "ANTHROPIC_API_KEY"];
    unset.into_iter().fold(child.cwd(work).env("HOME", home), ChildOptions::env_remove)
}

struct RowPlayer<D: Dialect> {
    client: RpcClient<D>,
    events: Events<D>,
    work: PathBuf,
    /// Values from responses. They replace `${NAME}` in later commands.
    variables: HashMap<String, String>,
}

impl<D: Dialect> RowPlayer<D> {
    async fn step(&mut self, step: &Value, seen: &mut RowCoverage) {
        if let Some(kind) = step["until"].as_str() {
            loop {
                let event = soon(kind, self.events.next_raw()).await.unwrap().unwrap();
                event.decode().unwrap();
                seen.events.insert(event.kind().to_owned());
                if event.kind() == kind {
                    return;
                }
            }
        }
        if let Some(name) = step["touch"].as_str() {
            return std::fs::write(self.work.join(name), "").unwrap();
        }
        let name = step["call"].as_str().or(step["start"].as_str()).unwrap();
        seen.commands.insert(name.to_owned());
        let wire = D::SPEC.commands.iter().find(|command| command.name == name).unwrap().wire;
        let params = self.substitute(&step["params"]);
        let empty = Map::new();
        let params = params.as_object().unwrap_or(&empty);
        if step["start"].is_string() {
            let params = Value::Object(params.clone()).to_string();
            let (_events, accepted) = self.client.as_dynamic().start(wire, &params, Limit::Default).unwrap();
            soon(name, accepted).await.unwrap();
            return;
        }
        let answer = soon(name, self.client.request(wire, params)).await;
        if let Some(kind) = step["fails"].as_str() {
            let error = answer.unwrap_err();
            assert_eq!(error.refused().and_then(|refused| refused.failure), Some(kind), "{name}: {error}");
            return;
        }
        let result = answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        for (path, value) in step["gives"].as_object().into_iter().flatten() {
            assert_eq!(*member(&result, path), self.substitute(value), "{name}: {path}");
        }
        for (word, path) in step["keep"].as_object().into_iter().flatten() {
            let value = member(&result, path.as_str().unwrap()).as_str().unwrap();
            self.variables.insert(word.clone(), value.to_owned());
        }
    }

    fn substitute(&self, value: &Value) -> Value {
        let fill = |text: String, (word, value): (&String, &String)| {
            let value = Value::from(value.as_str()).to_string();
            text.replace(&format!("${{{word}}}"), &value[1..value.len() - 1])
        };
        serde_json::from_str(&self.variables.iter().fold(value.to_string(), fill)).unwrap()
    }
}

fn member<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(value, |value, part| match part.parse::<usize>() {
        Ok(index) => &value[index],
        Err(_) => &value[part],
    })
}
