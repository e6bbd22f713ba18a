//! Pairs of dialects, the profiles that play them, and the cases that can be played.

use std::path::Path;

use agentese::any::{RowFate, RowKind};
use agentese::strict::{self, StrictError};
use agentese::types::{ExpectedFailure, Profile, Scenario};
use agentese_conformance::Suite;
use serde_json::Value;

use crate::arguments;
use crate::excuse::{GOES_ON, ORDER, WORDS, command, sends, sends_any};

/// A front's dialect, and the dialect of the agent behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub front: &'static str,
    pub agent: &'static str,
}

/// All pairs of two dialects.
pub fn all() -> Vec<Pair> {
    let names: Vec<&str> = agentese::dynamic::SPECS.iter().map(|spec| spec.name).collect();
    let pairs = names.iter().flat_map(|front| names.iter().map(move |agent| Pair { front, agent }));
    pairs.filter(|pair| pair.front != pair.agent).collect()
}

/// How long a pair may take to end.
const EXIT_GRACE_MS: u64 = 60_000;

impl Pair {
    pub fn name(&self) -> String {
        format!("{}-{}", self.front, self.agent)
    }

    /// Our agent in its own dialect, started as its own profile says, behind the bridge.
    pub fn profile(&self, suite: &Suite, program: &str) -> Profile {
        let named = |dialect: &str| suite.profile(&format!("agentese-{dialect}")).unwrap();
        let (front, mut profile) = (named(self.front), named(self.agent));
        let bridge = ["bridge", "--to", &front.dialect, "--from", &profile.dialect, "--"];
        let own = profile.command.clone().unwrap();
        let mut command = vec![program.to_owned()];
        command.extend(bridge.iter().map(|word| (*word).to_owned()));
        command.push(program.to_owned());
        command.extend(own.into_iter().skip(1));
        profile.command = Some(command);
        profile.name = self.name();
        profile.expected_failures = None;
        // What its model's API counts, whether it thinks, and how much a compaction keeps, is no matter of dialects.
        speak_as(&mut profile, &front);
        profile.dialect = front.dialect;
        // A front of pi ends when its run is over, and that of a case that broke off goes on as long as its tools.
        profile.exit_grace_ms = Some(EXIT_GRACE_MS);
        // What this agent chooses is found out by asking it.
        profile.choices = None;
        profile
    }

    /// The front's dialect with its revision.
    pub fn front_id(&self, suite: &Suite) -> String {
        suite.profile(&format!("agentese-{}", self.front)).unwrap().dialect
    }

    /// How the front differs from its recordings with an agent of its own.
    pub fn known(&self, suite: &Suite) -> Vec<ExpectedFailure> {
        let front = suite.profile(&format!("agentese-{}", self.front)).unwrap();
        let file = front.expected_failures.and_then(|name| suite.expected(&name).unwrap());
        file.map(|file| file.failures).unwrap_or_default()
    }

    /// The cases of the front's dialect.
    pub fn cases(&self, suite: &Suite) -> Vec<Scenario> {
        let front = suite.profile(&format!("agentese-{}", self.front)).unwrap();
        let cases = suite.cases(&front.dialect).unwrap();
        let models =
            front.models.map(|models| ids(&serde_json::to_value(models).unwrap())).unwrap_or_default();
        let names_models = |case: &Scenario| {
            let steps = serde_json::to_value(&case.steps).unwrap();
            let text = steps.to_string();
            let begins = steps.as_array().and_then(|steps| steps.iter().find_map(|step| step.get("send")));
            models.iter().any(|id| text.contains(&format!("\"{id}\"")))
                || begins.is_some_and(|begins| begins.pointer("/params/model/id").is_some())
        };
        let cases = cases.into_iter().filter(|case| !equips_the_agent(case) && !names_models(case));
        let cases = cases.map(|case| self.without_refused_lines(case));
        let cases = cases.map(|case| self.with_tools_of_the_agent(waiting_for_one_piece(case)));
        let rows = self.rows();
        cases.map(|case| of_the_words(Self::waiting_for_the_end(case, &rows), &rows)).collect()
    }

    /// What the loss report says of the front's rows, whichever revision of them the agent has.
    fn rows(&self) -> Vec<RowFate> {
        let spec = |name: &str| agentese::dynamic::spec(name).unwrap();
        agentese::any::explain(spec(self.front), spec(self.agent)).unwrap()
    }

    /// The case with a client that waits for the end of a run which the agent alone begins when it has compacted.
    fn waiting_for_the_end(case: Scenario, rows: &[RowFate]) -> Scenario {
        let goes_on =
            |row: &RowFate| row.differs.iter().any(|one| one.places.iter().any(|place| place == GOES_ON));
        if !rows.iter().any(goes_on) {
            return case;
        }
        let mut written = serde_json::to_value(case).unwrap();
        let compacted = |step: &Value| step.pointer("/wait/type").is_some_and(|kind| kind == COMPACTED);
        let steps = written["steps"].as_array_mut().unwrap();
        if let Some(place) = steps.iter().position(compacted) {
            steps.insert(place + 1, serde_json::json!({"wait": {"type": "agent_end"}}));
        }
        serde_json::from_value(written).unwrap()
    }

    /// The suite with its recordings as the pair has them: they call tools as the agent does, with arguments as a bridge writes
    /// them. It is written to that folder.
    pub fn suite(&self, folder: &Path) -> Suite {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["cases", "profiles", "expected"] {
            std::os::unix::fs::symlink(suite.join(name), folder.join(name)).unwrap();
        }
        for name in ["transcripts", "alternatives"] {
            let to = folder.join(name).join(self.front);
            std::fs::create_dir_all(&to).unwrap();
            // A dialect need not have other recordings.
            let files = std::fs::read_dir(suite.join(name).join(self.front)).into_iter().flatten();
            for file in files.map(|file| file.unwrap().path()) {
                let text = std::fs::read_to_string(&file).unwrap();
                let text = self.without_refused_records(&text);
                let text = arguments::without_white_space(&self.renamed(text, r#"\""#));
                std::fs::write(to.join(file.file_name().unwrap()), text).unwrap();
            }
        }
        Suite::at(folder)
    }

    /// Whether a bridge refuses a line, which readers may take for two commands; agents take one of them.
    fn refuses(&self, line: &str) -> bool {
        let front = agentese::dynamic::spec(self.front).unwrap();
        strict::client_frame(front, line).is_err_and(StrictError::is_ambiguity)
    }

    /// The case without the lines that a bridge refuses.
    fn without_refused_lines(&self, case: Scenario) -> Scenario {
        let mut written = serde_json::to_value(case).unwrap();
        let is_refused = |step: &Value| step["raw"].as_str().is_some_and(|line| self.refuses(line));
        written["steps"].as_array_mut().unwrap().retain(|step| !is_refused(step));
        serde_json::from_value(written).unwrap()
    }

    /// A recording without the lines that a bridge refuses, and their answers.
    fn without_refused_records(&self, text: &str) -> String {
        let mut refused = Vec::new();
        let is_kept = |record: &&str| {
            let record: Value = serde_json::from_str(record).unwrap();
            let Some(line) = record["line"].as_str() else { return true };
            let id = serde_json::from_str::<Value>(line).ok().and_then(|frame| frame.get("id").cloned());
            match record["dir"] == "c2s" {
                true if self.refuses(line) => {
                    refused.push(id);
                    false
                }
                true => true,
                false => id.is_none() || !refused.contains(&id),
            }
        };
        text.lines().filter(is_kept).map(|record| format!("{record}\n")).collect()
    }

    /// The case with a model that calls the tools of the agent behind the bridge.
    fn with_tools_of_the_agent(&self, case: Scenario) -> Scenario {
        let text = self.renamed(serde_json::to_string(&case).unwrap(), "\"");
        let mut renamed: Scenario = serde_json::from_str(&text).unwrap();
        // A case may be called as a tool is.
        renamed.name = case.name;
        renamed
    }

    /// JSON in which the tools of the front's dialect have the names of the agent's; the mark stands before and behind strings.
    fn renamed(&self, text: String, mark: &str) -> String {
        let (from, to) = (shell(self.front), shell(self.agent));
        let named = |text: String, key: &&str| {
            let member = |name: &str| format!("{mark}{key}{mark}:{mark}{name}{mark}");
            text.replace(&member(from), &member(to))
        };
        if from == to { text } else { TOOL_NAMES.iter().fold(text, named) }
    }
}

/// The members of a profile's models that say how their API is spoken.
const API: &[&str] = &["api", "baseUrl"];

/// Whether a model thinks.
const THINKS: &str = "reasoning";

/// Gives an agent models that speak the API of another one's and think as they do, one after the other, and its settings of
/// compaction.
fn speak_as(profile: &mut Profile, front: &Profile) {
    let written = |profile: &Profile| serde_json::to_value(profile).unwrap();
    let mut own = written(profile);
    let front = written(front);
    let provider = front["models"]["value"]["providers"].as_object().and_then(|all| all.values().next());
    let providers = own.pointer_mut("/models/value/providers").and_then(Value::as_object_mut);
    if let (Some(spoken), Some(providers)) = (provider, providers) {
        for provider in providers.values_mut() {
            for member in API {
                provider[*member] = spoken[*member].clone();
            }
            let models = provider["models"].as_array_mut().into_iter().flatten();
            for (model, like) in models.zip(spoken["models"].as_array().into_iter().flatten()) {
                model[THINKS] = like[THINKS].clone();
            }
        }
    }
    let compaction = &front["settings"]["value"]["compaction"];
    if let (Some(settings), false) = (own.pointer_mut("/settings/value"), compaction.is_null()) {
        settings["compaction"] = compaction.clone();
    }
    *profile = serde_json::from_value(own).unwrap();
}

/// The members that name a tool.
const TOOL_NAMES: &[&str] = &["name", "toolName", "tool"];

/// The tool of a dialect's agents that runs commands of the shell.
fn shell(dialect: &str) -> &'static str {
    let found = agentese_protocol::dialects::DIALECTS.iter().find(|one| one.name == dialect);
    found.unwrap().matching.sessions.shell
}

/// The event that tells of a summary which the agent has made by itself.
const COMPACTED: &str = "auto_compaction_end";

/// The events that tell a piece of an answer.
const PIECES: &[&str] = &["message_update", "message_delta"];

/// Pieces that come that many milliseconds apart stay apart.
const APART_MS: u64 = 50;

/// The case as it can be played through a bridge, which puts pieces together that come at once: where it waits for several of
/// them, it goes on with the first.
fn waiting_for_one_piece(case: Scenario) -> Scenario {
    let mut written = serde_json::to_value(case).unwrap();
    let mut answers = written["model"]["responses"].as_array().into_iter().flatten();
    if answers.any(|answer| answer["delay_ms"].as_u64().is_some_and(|delay| delay >= APART_MS)) {
        return serde_json::from_value(written).unwrap();
    }
    let is_piece = |step: &Value| {
        let places = ["/wait/event/type", "/wait/params/type", "/wait/type"];
        let mut names = places.iter().filter_map(|place| step.pointer(place)?.as_str());
        names.any(|name| PIECES.contains(&name))
    };
    let steps = written["steps"].as_array_mut().unwrap();
    steps.dedup_by(|step, before| is_piece(step) && is_piece(before));
    for step in steps.iter_mut().filter(|step| is_piece(step)) {
        step.as_object_mut().unwrap().remove("count");
    }
    serde_json::from_value(written).unwrap()
}

/// The case with a model that has to be sent the last words of the user, and as many images as there were: what else it is
/// sent, the agent alone says. Words that the agent may read at another time, as the loss report says, have to be among those of
/// the last request; images of which it says that the agent does not get them are sent by none.
fn of_the_words(mut case: Scenario, rows: &[RowFate]) -> Scenario {
    let sends_one = |is_one: &dyn Fn(&RowFate, &str) -> bool| {
        let of = |line: &str| {
            let name = command(line)?;
            rows.iter().find(|row| row.kind == RowKind::Command && row.row == name)
        };
        sends(&case).any(|(_, line)| of(&line).is_some_and(|row| is_one(row, &line)))
    };
    let is_moved =
        sends_one(&|row, _| row.differs.iter().any(|one| one.places.iter().any(|place| place == ORDER)));
    let loses_images = sends_one(&|row, line| {
        row.untaken.iter().any(|param| param == IMAGES) && sends_any(line, &[IMAGES.to_owned()])
    });
    for check in case.requests.iter_mut().flatten() {
        let mut last = check.expect["messages"]["$last"].clone();
        if last["role"] == "user" && (last.get("text").is_some() || last.get(IMAGES).is_some()) {
            if loses_images && let Some(members) = last.as_object_mut() {
                members.remove(IMAGES);
            }
            let place = if is_moved { "$some" } else { "$last" };
            check.expect = serde_json::json!({"messages": {place: last}});
            check.request = if is_moved { -1 } else { check.request };
            check.says = WORDS.to_owned();
        }
    }
    case
}

/// The parameter that takes images, and the member of a request that counts them.
const IMAGES: &str = "images";

/// The ids of the models that a profile gives its agent. A case that names them is about that agent.
fn ids(models: &Value) -> Vec<String> {
    match models {
        Value::Object(members) => {
            let id = members.get("id").and_then(Value::as_str).map(str::to_owned);
            members.values().flat_map(ids).chain(id).collect()
        }
        Value::Array(items) => items.iter().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

/// Whether a case starts its agent in a way of its own, or lays out what agents of one dialect alone read: settings,
/// models, extensions, sessions. Those behind the bridge are other agents.
fn equips_the_agent(case: &Scenario) -> bool {
    let mut files = case.files.iter().flatten().map(|(path, _)| path);
    case.arguments.is_some()
        || case.environment.is_some()
        || case.settings.is_some()
        || case.models.is_some()
        || case.setup.is_some()
        || files.any(|path| !path.starts_with("work/") || path.starts_with("work/."))
}

#[test]
fn the_model_calls_the_shell_of_the_agent_and_the_words_of_the_user_reach_it() {
    let suite = Suite::embedded();
    let case = |agent: &'static str, name: &str| {
        let cases = Pair { front: "pi", agent }.cases(&suite);
        let case = cases.into_iter().find(|case| case.name == name).unwrap();
        serde_json::to_value(case).unwrap()
    };
    for (agent, tool) in [("opal", "shell"), ("omp", "bash")] {
        let case = case(agent, "steer-and-follow-up");
        assert_eq!(case["model"]["responses"][0]["blocks"][0]["tool"]["name"], tool, "{agent}");
        let words = &case["requests"][2];
        // Opal's agents read them when they would stop: the last request has them all.
        let (request, place) = if agent == "opal" { (-1, "$some") } else { (1, "$last") };
        assert_eq!(
            (&words["says"], &words["expect"]["messages"][place]["text"]),
            (&WORDS.into(), &"now".into())
        );
        assert_eq!(words["request"], request, "{agent}");
        assert_eq!(
            words["expect"]["messages"].as_object().unwrap().len(),
            1,
            "how many there are is the agent's"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let played = Pair { front: "pi", agent: "opal" }.suite(folder.path());
    let golden = played.golden("pi@0.55", "steer-and-follow-up").unwrap().unwrap();
    let has = |text: &str| {
        golden.records.iter().any(|record| match record {
            agentese_conformance::transcript::Record::Received(line) => line.as_str().contains(text),
            _ => false,
        })
    };
    assert!(has(r#""toolName":"shell""#) && !has(r#""toolName":"bash""#));
}

#[test]
fn a_line_that_names_two_commands_is_neither_sent_nor_expected() {
    let pair = Pair { front: "pi", agent: "opal" };
    let case =
        pair.cases(&Suite::embedded()).into_iter().find(|case| case.name == "proto-malformed").unwrap();
    let steps = serde_json::to_string(&case.steps).unwrap();
    assert!(!steps.contains("dup") && steps.contains("trailing") && steps.contains("esc"), "{steps}");
    let folder = tempfile::tempdir().unwrap();
    let golden = pair.suite(folder.path()).golden("pi@0.55", "proto-malformed").unwrap().unwrap();
    let text = format!("{:?}", golden.records);
    assert!(!text.contains("dup") && text.contains("trailing") && text.contains("esc"), "{text}");
}

#[test]
fn images_have_to_reach_an_agent_that_takes_them() {
    let suite = Suite::embedded();
    for (agent, images) in [("omp", Some(1)), ("opal", None), ("operator", None)] {
        let cases = Pair { front: "pi", agent }.cases(&suite);
        let case = cases.into_iter().find(|case| case.name == "plain-image").unwrap();
        let words = case.requests.unwrap().into_iter().find(|check| check.says == WORDS).unwrap();
        let last = &words.expect["messages"]["$last"];
        assert_eq!((&last["text"], last["images"].as_u64()), (&"What is this?".into(), images), "{agent}");
    }
}

#[test]
fn of_pieces_that_come_at_once_one_is_waited_for() {
    let waits = |front: &'static str, agent: &'static str, name: &str| {
        let cases = Pair { front, agent }.cases(&Suite::embedded());
        let case = cases.into_iter().find(|case| case.name == name).unwrap();
        let steps = serde_json::to_value(&case.steps).unwrap();
        steps.as_array().unwrap().iter().filter(|step| step.to_string().contains("message_update")).count()
    };
    assert_eq!(waits("operator", "pi", "d01_prompt_answered_at_completion"), 1);
}
