//! Pairs of dialects, the profiles that play them, and the cases that can be played.

use agentese::types::{ExpectedFailure, Profile, Scenario};
use agentese_conformance::Suite;
use serde_json::Value;

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
        profile.dialect = front.dialect;
        profile.expected_failures = None;
        // A front of pi ends when its run is over, and that of a case that broke off goes on as long as its tools.
        profile.exit_grace_ms = Some(EXIT_GRACE_MS);
        // What this agent chooses is found out by asking it.
        profile.choices = None;
        profile
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
            let steps = serde_json::to_string(&case.steps).unwrap();
            models.iter().any(|id| steps.contains(&format!("\"{id}\"")))
        };
        let cases = cases.into_iter().filter(|case| !equips_the_agent(case) && !names_models(case));
        cases.map(waiting_for_one_piece).collect()
    }
}

/// The events that tell a piece of an answer.
const PIECES: &[&str] = &["message_update", "message_delta"];

/// The case as it can be played through a bridge, which puts pieces together that come at once: where it waits for several of
/// them, it goes on with the first.
fn waiting_for_one_piece(case: Scenario) -> Scenario {
    let mut written = serde_json::to_value(case).unwrap();
    for step in written["steps"].as_array_mut().into_iter().flatten() {
        let names = [step.pointer("/wait/event/type"), step.pointer("/wait/params/type")];
        let is_piece = |name: &Value| name.as_str().is_some_and(|name| PIECES.contains(&name));
        if names.into_iter().flatten().any(is_piece) {
            step.as_object_mut().unwrap().remove("count");
        }
    }
    serde_json::from_value(written).unwrap()
}

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
