//! Tests of `agentese bridge` for every pair of dialects, with the client for any dialect.

mod agent_input;
mod dialogs;
mod forks;
mod live;
#[path = "../program/live.rs"]
mod live_operator;
mod pending_prompts;
#[path = "../program/mod.rs"]
mod program;
mod raw_client;
mod relay;
mod sessions;
mod state;
mod tool_calls;

use std::path::PathBuf;
use std::process::Command;

use agentese::any::{Agent, Answer, Event, Intent, Options, Question};
use agentese::spec::Spec;
use agentese::transport::ChildOptions;
use agentese::view::{Role, ToolState};
use futures::FutureExt;
use program::{LONG, agentese, script, soon};
use serde_json::{Value, json};

/// Environment variable that selects the pairs of dialects: `all`, or one pair. If unset, a sample is
/// tested.
const WHICH: &str = "AGENTESE_BRIDGE";

/// Returns the name of the shell tool in a dialect, which may include a revision.
fn shell(dialect: &str) -> &'static str {
    let name = dialect.split('@').next().unwrap();
    let found = agentese_protocol::dialects::DIALECTS.iter().find(|one| one.name == name);
    found.unwrap().matching.sessions.shell
}

/// A bridge with a client of one dialect and an agent of another.
struct Pair {
    front: &'static str,
    agent: &'static str,
    place: tempfile::TempDir,
    /// Additional arguments of the agent.
    agent_arguments: Vec<String>,
    /// `true` if the agent's model plays the script that is common to these tests.
    scripted: bool,
    /// `true` if the bridge must detect the agent's dialect.
    detects_dialect: bool,
    /// `true` if the agent stores its sessions.
    stores_sessions: bool,
}

impl Pair {
    fn new(front: &'static str, agent: &'static str) -> Self {
        let place = tempfile::tempdir().unwrap();
        for folder in ["work", "home"] {
            std::fs::create_dir(place.path().join(folder)).unwrap();
        }
        std::fs::write(place.path().join("script.json"), script(shell(agent)).to_string()).unwrap();
        Self {
            front,
            agent,
            place,
            agent_arguments: Vec::new(),
            scripted: true,
            detects_dialect: false,
            stores_sessions: false,
        }
    }

    fn name(&self) -> String {
        format!("{} behind {}", self.agent, self.front)
    }

    fn report(&self) -> PathBuf {
        self.place.path().join("report.json")
    }

    /// Returns the arguments of the bridge.
    fn arguments(&self, report: bool) -> Vec<String> {
        let program = agentese().to_str().unwrap().to_owned();
        let mut words = vec!["bridge".to_owned(), "--to".to_owned(), self.front.to_owned()];
        if !self.detects_dialect {
            words.extend(["--from".to_owned(), self.agent.to_owned()]);
        }
        if report {
            words.extend(["--report".to_owned(), self.report().to_str().unwrap().to_owned()]);
        }
        words.push("--".to_owned());
        words.push(program);
        words.extend(["--mode", "rpc", "--dialect", self.agent].map(str::to_owned));
        if !self.stores_sessions {
            words.push("--no-session".to_owned());
        }
        if self.scripted {
            let script = self.place.path().join("script.json");
            words.extend(["--script".to_owned(), script.to_str().unwrap().to_owned()]);
        }
        words.extend(self.agent_arguments.iter().cloned());
        words
    }

    /// Returns the command that starts the bridge, for tests that write the client's frames themselves.
    fn command(&self, report: bool) -> tokio::process::Command {
        self.command_with(self.arguments(report))
    }

    /// Returns the command that starts the bridge with these arguments.
    fn command_with(&self, arguments: Vec<String>) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(agentese());
        command.args(arguments).current_dir(self.place.path().join("work")).kill_on_drop(true);
        command.env("HOME", self.place.path().join("home")).env("TMPDIR", self.place.path());
        command.env_remove("PI_CODING_AGENT_DIR").env_remove("AGENTESE_HOME");
        command
    }

    /// Connects a client of the pair's front dialect to a bridge.
    async fn connect(&self, handler: impl agentese::any::QuestionHandler) -> Agent {
        self.connect_with(self.arguments(true), handler).await
    }

    /// Connects a client of the pair's front dialect to a bridge with these arguments.
    async fn connect_with(
        &self,
        arguments: Vec<String>,
        handler: impl agentese::any::QuestionHandler,
    ) -> Agent {
        self.agent(self.front, arguments, handler).await
    }

    /// Starts this program with the given arguments, and connects a client of a dialect to it.
    async fn agent(
        &self,
        dialect: &str,
        arguments: Vec<String>,
        handler: impl agentese::any::QuestionHandler,
    ) -> Agent {
        let child = ChildOptions::new(agentese())
            .args(arguments)
            .cwd(self.place.path().join("work"))
            .env("HOME", self.place.path().join("home"))
            .env("TMPDIR", self.place.path())
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("AGENTESE_HOME")
            // On a busy machine, the bridge, its agent and the report take longer than the default time
            // limits permit.
            .graces(LONG, LONG);
        let options = Options::new().dialect(dialect).on_question(handler);
        soon("the program", Agent::spawn(child, options)).await.unwrap()
    }
}

fn dismiss_all(_: Question) -> futures::future::BoxFuture<'static, Option<Answer>> {
    async { None }.boxed()
}

/// Returns `true` if the client's command for that intent is declared as lost for this agent.
fn lost(pair: &Pair, intent: Intent) -> bool {
    let spec = |name: &str| -> &'static Spec { agentese::dynamic::spec(name).unwrap() };
    let rows = agentese::any::explain(spec(pair.front), spec(pair.agent)).unwrap();
    let mut rows = rows.iter().filter(|row| row.intents.contains(&intent.name()));
    rows.all(|row| row.fidelity == agentese::any::Fidelity::Lost)
}

/// Runs a prompt. Returns the text of the answer, and the events of the run.
async fn run_prompt(agent: &Agent, text: &str) -> (String, Vec<Event>) {
    let mut run = soon("the prompt", agent.prompt(text)).await.unwrap();
    let mut events = Vec::new();
    while let Some(Ok(event)) = soon("an event", run.next()).await {
        events.push(event);
    }
    (soon("the end", run.result()).await.unwrap().text(), events)
}

async fn check_pair(pair: &Pair) {
    let name = pair.name();
    let agent = pair.connect(dismiss_all).await;
    let (text, events) = run_prompt(&agent, "hello").await;
    assert_eq!(text, "Hello there", "{name}");
    let mut of_model = Vec::new();
    let grown = events.iter().filter_map(|event| match event {
        Event::MessageStarted { message, role: Role::Assistant } => {
            of_model.push(message);
            None
        }
        Event::TextGrew { message, text, .. } if of_model.contains(&message) => Some(text.as_str()),
        _ => None,
    });
    let grown: String = grown.collect();
    assert_eq!(grown, "Hello there", "{name}: {events:#?}");
    let thought = events.iter().any(|event| matches!(event, Event::ThinkingGrew { .. }));
    assert!(thought, "{name}: {events:#?}");

    let (text, events) = run_prompt(&agent, "tool").await;
    assert_eq!(text, "I see.", "{name}");
    let ended = events.iter().find_map(|event| match event {
        Event::ToolEnded { state, result, .. } => Some((state, format!("{result:?}"))),
        _ => None,
    });
    let (state, result) = ended.unwrap_or_else(|| panic!("{name}: no tool ended: {events:#?}"));
    assert_eq!(*state, ToolState::Done, "{name}: {result}");
    assert!(result.contains("out-of-it"), "{name}: {result}");

    let failed = soon("the prompt", agent.prompt("fail")).await;
    let failed = match failed {
        Ok(run) => match soon("the failure", run.wait()).await {
            Ok(done) => format!("{:?} {:?}", done.message, agent.conversation().run.error),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    assert!(failed.contains("no such thing"), "{name}: {failed}");

    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    loop {
        let event = soon("some text", run.next()).await;
        assert!(event.is_some(), "{name}: the run is over before it is stopped");
        if matches!(event, Some(Ok(Event::TextGrew { .. }))) {
            break;
        }
    }
    soon("the abort", agent.abort()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let _ = soon("the end of what was stopped", run.result()).await;
    assert_eq!(run_prompt(&agent, "hello").await.0, "Hello there", "{name}: after an abort");

    if agent.supports(Intent::Steer) && !lost(pair, Intent::Steer) {
        let mut run = soon("the prompt", agent.prompt("slow")).await.unwrap();
        while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None)
        {
        }
        soon("the input", agent.steer("second")).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = soon("the end", run.result()).await.unwrap().text();
        assert_eq!(text, "To the second.", "{name}");
    }
    if agent.supports(Intent::Messages) {
        let messages = soon("the messages", agent.messages()).await.unwrap();
        assert!(messages.len() >= 8, "{name}: {messages:#?}");
        assert_eq!(messages[0].text(), "hello", "{name}");
    }
    let ended = soon("the end", agent.close()).await;
    assert!(ended.exit().is_none_or(|exit| exit.success()), "{name}: {ended:?}");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(pair.report()).unwrap()).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let sent: u64 = rows.iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert!(sent >= 5, "{name}: {report:#}");
}

/// Returns the tested pairs: all pairs, one pair, or a sample that has each dialect on both sides.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let names: Vec<&str> = agentese::dynamic::SPECS.iter().map(|spec| spec.name).collect();
    let all = names.iter().flat_map(|front| names.iter().map(move |agent| (*front, *agent)));
    let all: Vec<_> = all.filter(|(front, agent)| front != agent).collect();
    match std::env::var(WHICH) {
        Ok(which) if which == "all" => all,
        Ok(which) if !which.is_empty() => {
            let named: Vec<_> =
                all.into_iter().filter(|(front, agent)| which == format!("{front}-{agent}")).collect();
            assert!(!named.is_empty(), "{WHICH} names neither a pair, as in `pi-opal`, nor `all`");
            named
        }
        _ => vec![("pi", "opal"), ("opal", "pi"), ("operator", "omp"), ("pisces", "operator")],
    }
}

#[tokio::test]
async fn an_agent_works_behind_a_front_of_another_dialect() {
    let mut failed = Vec::new();
    for (front, agent) in pairs() {
        // The failure of one pair must not hide the results of the others.
        let played = tokio::spawn(async move { check_pair(&Pair::new(front, agent)).await }).await;
        failed.extend(played.err().map(|error| format!("{front} with {agent}: {error}")));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_fidelity_of_each_row_is_printed() {
    let output = |words: &[&str]| {
        let done = Command::new(agentese()).args(words).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let text = output(&["bridge", "--explain", "pi", "opal"]);
    let line = text.lines().find(|line| line.trim_start().starts_with("export_html")).unwrap();
    assert!(line.contains("lost") && line.contains("the agent writes no pages"), "{line}");
    let json: Value =
        serde_json::from_str(&output(&["bridge", "--explain", "pi", "opal", "--json"])).unwrap();
    assert_eq!(json["agent"], "opal@0.1");
    assert!(json["rows"].as_array().unwrap().iter().any(|row| row["fate"] == "carried"));
}

#[tokio::test]
async fn a_lost_command_is_rejected_with_the_reason() {
    // omp agents report other failures without the name and the id of the command.
    for front in ["pi", "omp@12.7"] {
        let pair = Pair::new(front, "opal");
        let agent = pair.connect(dismiss_all).await;
        let error = soon("the answer", agent.bash("true")).await.unwrap_err().to_string();
        assert!(error.contains("the agent runs no shell commands of the user"), "{front}: {error}");
        soon("the end", agent.close()).await;
    }
}

#[tokio::test]
async fn a_killed_agent_fails_open_work_and_ends_the_bridge_with_1() {
    let pair = Pair::new("pi", "opal");
    let agent = pair.connect(dismiss_all).await;
    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    // The agent is a child process of the bridge.
    let bridge = agent.as_dynamic().process_id().unwrap();
    let children = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
    for child in children.split_whitespace() {
        let done = Command::new("kill").args(["-KILL", child]).status().unwrap();
        assert!(done.success());
    }
    let mut failed = None;
    while let Some(Ok(event)) = soon("an event", run.next()).await {
        if let Event::MessageEnded { message } = event
            && message.error.is_some()
        {
            failed = Some(message);
        }
    }
    let failed = failed.expect("the answer fails");
    assert!(format!("{:?}", failed.error).contains("killed by SIGKILL"), "{failed:?}");
    let ended = soon("the end", agent.terminated()).await;
    assert_eq!(ended.exit().and_then(|exit| exit.code), Some(1), "{ended:?}");
}

/// The client receives the list of all models of the agent, and can cycle through them.
#[tokio::test]
async fn the_next_model_is_set_at_the_agent() {
    let mut pair = Pair::new("omp", "pi");
    let model = |id: &str| {
        json!({
            "id": id, "name": id, "reasoning": true, "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
            "cost": {"input": 1, "output": 2, "cacheRead": 0.5, "cacheWrite": 0.25},
        })
    };
    let models = json!({"providers": {"loopback": {
        "baseUrl": "http://127.0.0.1:9", "apiKey": "not-a-key", "api": "anthropic-messages",
        "models": [model("one"), model("two")],
    }}});
    let folder = pair.place.path().join("home/.pi/agent");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("models.json"), models.to_string()).unwrap();
    pair.agent_arguments = ["--model", "loopback/one"].map(str::to_owned).into();
    pair.scripted = false;
    let agent = pair.connect(dismiss_all).await;
    let listed = soon("the models", agent.models()).await.unwrap();
    let one = listed.iter().find(|model| model.id == "one").unwrap();
    assert_eq!(
        (one.window, one.max_tokens, one.api.as_deref()),
        (Some(1000), Some(100), Some("anthropic-messages"))
    );
    assert_eq!(one.prices.as_ref().unwrap()["cacheRead"], 0.5);
    let next = soon("the next model", agent.cycle_model()).await.unwrap().unwrap();
    assert_eq!(next.id, "two");
    let state = soon("the state", agent.state()).await.unwrap();
    assert_eq!(state.model.unwrap().id, "two");
    soon("the end", agent.close()).await;
}

#[tokio::test]
async fn input_held_at_a_stop_waits_for_the_next_prompt() {
    let pair = Pair::new("pi", "operator");
    let agent = pair.connect(dismiss_all).await;
    let mut run = soon("the prompt", agent.prompt("hang")).await.unwrap();
    while !matches!(soon("some text", run.next()).await, Some(Ok(Event::TextGrew { .. }) | Err(_)) | None) {}
    soon("the input", agent.steer("second")).await.unwrap();
    soon("the abort", agent.abort()).await.unwrap();
    let _ = soon("the end", run.result()).await;
    run_prompt(&agent, "hello").await;
    let words = soon("all input", async {
        loop {
            let messages = agent.messages().await.unwrap();
            let said = messages.iter().filter(|message| message.role == Role::User);
            let said: Vec<String> = said.map(|message| message.text()).collect();
            if said.len() > 2 {
                return said;
            }
        }
    });
    assert_eq!(words.await, ["hang", "hello", "second"]);
    soon("the end", agent.close()).await;
}

/// Agents of Opal have a single command for user input, which would start a run if the agent is idle.
#[tokio::test]
async fn queued_input_starts_no_run() {
    for agent in ["opal", "operator", "omp"] {
        let pair = Pair::new("pi", agent);
        let client = pair.connect(dismiss_all).await;
        soon("the input", client.steer("second")).await.unwrap();
        assert!(!soon("the state", client.state()).await.unwrap().working.unwrap_or_default(), "{agent}");
        run_prompt(&client, "hello").await;
        let words = soon("all input", async {
            loop {
                let messages = client.messages().await.unwrap();
                let said = messages.iter().filter(|message| message.role == Role::User);
                let said: Vec<String> = said.map(|message| message.text()).collect();
                if said.len() > 1 {
                    return said;
                }
            }
        });
        assert_eq!(words.await, ["hello", "second"], "{agent}");
        soon("the end", client.close()).await;
    }
}
