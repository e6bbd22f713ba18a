//! Pairs of a client's dialect and an agent's dialect, with profiles to play them, and the cases that they
//! can play.

use std::path::Path;

use agentese::any::{RowFidelity, RowKind};
use agentese::strict::{self, StrictError};
use agentese::types::{ExpectedFailure, Profile, Scenario};
use agentese_conformance::Suite;
use serde_json::Value;

use crate::arguments;
use crate::loss_report::{CONTINUED_RUN, ORDER, USER_INPUT_CHECK, command, sends, sends_any};

/// The dialect of the client, and the dialect of the agent behind the bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub front: &'static str,
    pub agent: &'static str,
}

/// Returns all pairs of different dialects.
pub fn all() -> Vec<Pair> {
    let names: Vec<&str> = agentese::dynamic::SPECS.iter().map(|spec| spec.name).collect();
    let pairs = names.iter().flat_map(|front| names.iter().map(move |agent| Pair { front, agent }));
    pairs.filter(|pair| pair.front != pair.agent).collect()
}

/// Time limit for the end of the bridge and its agent, in milliseconds.
const EXIT_GRACE_MS: u64 = 60_000;

impl Pair {
    pub fn name(&self) -> String {
        format!("{}-{}", self.front, self.agent)
    }

    /// Returns a profile that starts the reference agent in its dialect behind a bridge. The agent gets the
    /// arguments of its own profile.
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
        // The model's usage, its thinking and the size of a compaction must not depend on the dialect.
        adopt_models(&mut profile, &front);
        profile.dialect = front.dialect;
        // A server of pi ends only after its run. If a case broke off, that takes as long as the tools of the
        // run.
        profile.exit_grace_ms = Some(EXIT_GRACE_MS);
        // The suite reads this agent's choices from its first query.
        profile.choices = None;
        profile
    }

    /// Returns the client's dialect with its revision.
    pub fn front_id(&self, suite: &Suite) -> String {
        suite.profile(&format!("agentese-{}", self.front)).unwrap().dialect
    }

    /// Returns the known failures of this project's server of the client's dialect, compared with the
    /// recordings.
    pub fn known(&self, suite: &Suite) -> Vec<ExpectedFailure> {
        let front = suite.profile(&format!("agentese-{}", self.front)).unwrap();
        let file = front.expected_failures.and_then(|name| suite.expected(&name).unwrap());
        file.map(|file| file.failures).unwrap_or_default()
    }

    /// Returns the cases of the client's dialect that can be played through the bridge.
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
        let cases = cases.into_iter().filter(|case| !configures_agent(case) && !names_models(case));
        let cases = cases.map(|case| self.without_refused_lines(case));
        let cases = cases.map(|case| self.with_tools_of_the_agent(waiting_for_one_piece(case)));
        let rows = self.rows();
        cases.map(|case| only_user_input(Self::waiting_for_the_end(case, &rows), &rows)).collect()
    }

    /// Returns the loss report of the pair. It does not depend on the agent's revision.
    fn rows(&self) -> Vec<RowFidelity> {
        let spec = |name: &str| agentese::dynamic::spec(name).unwrap();
        agentese::any::explain(spec(self.front), spec(self.agent)).unwrap()
    }

    /// Adds a wait for the end of a run to a case, if the agent starts a run without a command after a
    /// compaction.
    fn waiting_for_the_end(case: Scenario, rows: &[RowFidelity]) -> Scenario {
        let goes_on = |row: &RowFidelity| {
            row.differences.iter().any(|one| one.places.iter().any(|place| place == CONTINUED_RUN))
        };
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

    /// Writes the suite to a folder, and adapts the recordings to the pair. The tools have the names of the
    /// agent, and arguments have the form in which the bridge sends them.
    pub fn suite(&self, folder: &Path) -> Suite {
        let suite = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["cases", "profiles", "expected"] {
            std::os::unix::fs::symlink(suite.join(name), folder.join(name)).unwrap();
        }
        for name in ["transcripts", "alternatives"] {
            let to = folder.join(name).join(self.front);
            std::fs::create_dir_all(&to).unwrap();
            // A dialect may have no other recordings.
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

    /// Returns `true` if a bridge rejects the line because some JSON readers find one command in it, and
    /// others find another. Agents accept such a line.
    fn rejects(&self, line: &str) -> bool {
        let front = agentese::dynamic::spec(self.front).unwrap();
        strict::client_frame(front, line).is_err_and(StrictError::is_ambiguity)
    }

    /// Removes the lines that a bridge rejects from a case.
    fn without_refused_lines(&self, case: Scenario) -> Scenario {
        let mut written = serde_json::to_value(case).unwrap();
        let is_refused = |step: &Value| step["raw"].as_str().is_some_and(|line| self.rejects(line));
        written["steps"].as_array_mut().unwrap().retain(|step| !is_refused(step));
        serde_json::from_value(written).unwrap()
    }

    /// Removes the lines that a bridge rejects, and their answers, from a recording.
    fn without_refused_records(&self, text: &str) -> String {
        let mut refused = Vec::new();
        let is_kept = |record: &&str| {
            let record: Value = serde_json::from_str(record).unwrap();
            let Some(line) = record["line"].as_str() else { return true };
            let id = serde_json::from_str::<Value>(line).ok().and_then(|frame| frame.get("id").cloned());
            match record["dir"] == "c2s" {
                true if self.rejects(line) => {
                    refused.push(id);
                    false
                }
                true => true,
                false => id.is_none() || !refused.contains(&id),
            }
        };
        text.lines().filter(is_kept).map(|record| format!("{record}\n")).collect()
    }

    /// Replaces the tool names in a case with the names of the agent behind the bridge.
    fn with_tools_of_the_agent(&self, case: Scenario) -> Scenario {
        let text = self.renamed(serde_json::to_string(&case).unwrap(), "\"");
        let mut renamed: Scenario = serde_json::from_str(&text).unwrap();
        // The case itself may be named like a tool.
        renamed.name = case.name;
        renamed
    }

    /// Replaces the tool names of the client's dialect with the agent's names in a JSON text. `mark` is the
    /// quotation mark around strings.
    fn renamed(&self, text: String, mark: &str) -> String {
        let (from, to) = (shell(self.front), shell(self.agent));
        let named = |text: String, key: &&str| {
            let member = |name: &str| format!("{mark}{key}{mark}:{mark}{name}{mark}");
            text.replace(&member(from), &member(to))
        };
        if from == to { text } else { TOOL_NAMES.iter().fold(text, named) }
    }
}

/// Members of a profile's models that select their API.
const API: &[&str] = &["api", "baseUrl"];

/// Member of a model that states if it can think.
const THINKING_MEMBER: &str = "reasoning";

/// Copies settings from the profile of the client's dialect: the API, the thinking of each model, and the
/// compaction.
fn adopt_models(profile: &mut Profile, front: &Profile) {
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
                model[THINKING_MEMBER] = like[THINKING_MEMBER].clone();
            }
        }
    }
    let compaction = &front["settings"]["value"]["compaction"];
    if let (Some(settings), false) = (own.pointer_mut("/settings/value"), compaction.is_null()) {
        settings["compaction"] = compaction.clone();
    }
    *profile = serde_json::from_value(own).unwrap();
}

/// Members with the name of a tool.
const TOOL_NAMES: &[&str] = &["name", "toolName", "tool"];

/// Returns the tool for shell commands of a dialect's agents.
fn shell(dialect: &str) -> &'static str {
    let found = agentese_protocol::dialects::DIALECTS.iter().find(|one| one.name == dialect);
    found.unwrap().matching.sessions.shell
}

/// Event of an automatic compaction.
const COMPACTED: &str = "auto_compaction_end";

/// Events that carry a piece of a streamed answer.
const PIECES: &[&str] = &["message_update", "message_delta"];

/// Minimum pause between two pieces, in milliseconds, after which the bridge sends them separately.
const APART_MS: u64 = 50;

/// Adapts a case to a bridge, which joins pieces that arrive together: each wait for several pieces becomes a
/// wait for one piece.
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

/// Reduces a case's checks of requests to the user's last input and its images. All other parts of a request
/// depend on the agent.
///
/// If the loss report allows the agent to read the input at another time, any message of the last request may
/// contain it. If the agent receives no images, the checks do not require them.
fn only_user_input(mut case: Scenario, rows: &[RowFidelity]) -> Scenario {
    let sends_one = |is_one: &dyn Fn(&RowFidelity, &str) -> bool| {
        let of = |line: &str| {
            let name = command(line)?;
            rows.iter().find(|row| row.kind == RowKind::Command && row.row == name)
        };
        sends(&case).any(|(_, line)| of(&line).is_some_and(|row| is_one(row, &line)))
    };
    let is_moved =
        sends_one(&|row, _| row.differences.iter().any(|one| one.places.iter().any(|place| place == ORDER)));
    let loses_images = sends_one(&|row, line| {
        row.unsupported_params.iter().any(|param| param == IMAGES) && sends_any(line, &[IMAGES.to_owned()])
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
            check.says = USER_INPUT_CHECK.to_owned();
        }
    }
    case
}

/// Name of the parameter with images, and of the member of a request with the number of images.
const IMAGES: &str = "images";

/// Returns the ids of the models in a profile. A case that contains such an id applies only to the agent of
/// that profile.
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

/// Returns `true` if a case starts its agent in a special way, or writes files that only agents of its
/// dialect read. Such files are settings, models, extensions and sessions. Agents of other dialects cannot
/// run such a case.
fn configures_agent(case: &Scenario) -> bool {
    let mut files = case.files.iter().flatten().map(|(path, _)| path);
    case.arguments.is_some()
        || case.environment.is_some()
        || case.settings.is_some()
        || case.models.is_some()
        || case.setup.is_some()
        || files.any(|path| !path.starts_with("work/") || path.starts_with("work/."))
}

#[test]
fn the_model_calls_the_agents_shell_and_receives_the_user_input() {
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
        // Agents of Opal read the input when they would otherwise stop, so only the last request contains all
        // of it.
        let (request, place) = if agent == "opal" { (-1, "$some") } else { (1, "$last") };
        assert_eq!(
            (&words["says"], &words["expect"]["messages"][place]["text"]),
            (&USER_INPUT_CHECK.into(), &"now".into())
        );
        assert_eq!(words["request"], request, "{agent}");
        assert_eq!(
            words["expect"]["messages"].as_object().unwrap().len(),
            1,
            "the agent determines their number"
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
        let words = case.requests.unwrap().into_iter().find(|check| check.says == USER_INPUT_CHECK).unwrap();
        let last = &words.expect["messages"]["$last"];
        assert_eq!((&last["text"], last["images"].as_u64()), (&"What is this?".into(), images), "{agent}");
    }
}

#[test]
fn a_wait_for_simultaneous_pieces_becomes_a_wait_for_one() {
    let waits = |front: &'static str, agent: &'static str, name: &str| {
        let cases = Pair { front, agent }.cases(&Suite::embedded());
        let case = cases.into_iter().find(|case| case.name == name).unwrap();
        let steps = serde_json::to_value(&case.steps).unwrap();
        steps.as_array().unwrap().iter().filter(|step| step.to_string().contains("message_update")).count()
    };
    assert_eq!(waits("operator", "pi", "d01_prompt_answered_at_completion"), 1);
}
