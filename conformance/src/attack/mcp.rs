//! Attack on an agent with MCP servers that flood it, write garbage, hang or die.

use std::time::{Duration, Instant};

use serde_json::json;

use super::abort::run;
use super::agent::{AttackEnv, LONG};
use super::stand_in::{MANY, StandIn, TOOL};
use super::{Attack, AttackContext, AttackError, AttackFindings, Counts, usage};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "mcp",
    description: "MCP servers that flood, write garbage, hang or die: the agent answers, does not poll while idle, and leaves no process",
    run: |context| Box::pin(attack(context)),
};

/// Kinds of defective servers. The attack tests the first one on an idle agent.
const DEFECTS: [&str; 7] = [
    "changes-its-tools",
    "offers-many",
    "lists-without-end",
    "babbles",
    "dies-in-a-call",
    "hangs-in-a-call",
    "says-nothing",
];
/// Minimum time for which the attack observes an idle agent. The number of permitted requests is proportional to
/// the observed time, so a slow machine causes no findings.
const IDLE: Duration = Duration::from_secs(3);
/// Number of permitted list requests for each second of the observation; `FIRST_LISTS` are permitted in
/// addition.
const LISTS_PER_SECOND: f64 = 5.0;
const FIRST_LISTS: f64 = 20.0;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let Some(file) = context.config.surfaces.mcp.clone() else {
        return Err(AttackError::NotApplicable("--mcp is not given".to_owned()));
    };
    let mut found = AttackFindings::default();
    let (mut servers, mut calls, mut ticks) = (0, 0, 0);
    while servers < DEFECTS.len() as u64 || (found.is_empty() && context.has_time()) {
        let at = servers as usize;
        let defect = DEFECTS.get(at).copied().unwrap_or_else(|| DEFECTS[context.rng.usize(..DEFECTS.len())]);
        let used = test_defect(context, &file, defect).await.map_err(|trouble| match trouble {
            AttackError::Finding(text) => {
                AttackError::Finding(format!("with a server that {}: {text}", prompt_for(defect)))
            }
            other => other,
        });
        if let Some(used) = found.record(used)? {
            calls += used.calls;
            ticks = used.ticks.max(ticks);
        }
        servers += 1;
    }
    found.finish(vec![("servers", servers), ("calls", calls), ("ticks of an idle agent at most", ticks)])
}

fn prompt_for(defect: &str) -> String {
    defect.replace('-', " ")
}

#[derive(Default)]
struct McpCounts {
    calls: u64,
    ticks: u64,
}

async fn test_defect(context: &AttackContext, file: &str, defect: &str) -> Result<McpCounts, AttackError> {
    let log = tempfile::NamedTempFile::new().map_err(|error| AttackError::Environment(error.to_string()))?;
    let server = StandIn::Mcp { defect: defect.to_owned(), log: log.path().to_owned() }.command()?;
    let config = json!({"mcpServers": {"stand-in": {"command": server[0], "args": server[1..]}}});
    let script = json!({"responses": [
        {"when": {"tool_results": false}, "blocks": [{"tool": {"name": TOOL, "args": {}}}]},
    ], "default": {"text": "OK."}});
    let env = AttackEnv::with(&context.config, script, json!({"files": {file: {"json": config}}})).await?;
    let mut subject = env.start().await?;
    let logged = || std::fs::read_to_string(log.path()).unwrap_or_default();
    let count = |what: &str| logged().lines().filter(|line| *line == what).count() as u64;
    let mut used = McpCounts::default();
    if defect == "hangs-in-a-call" {
        abort_hanging_call(&mut subject, || count("tools/call") > 0).await?;
    } else {
        run(&mut subject, "with-the-server").await?;
    }
    if logged().is_empty() {
        return Err(AttackError::Environment(format!("the agent did not start the MCP server in {file}")));
    }
    used.calls = count("tools/call");
    if defect == "changes-its-tools" {
        used.ticks = observe_idle(&subject, || count("tools/list")).await?;
    }
    run(&mut subject, "again").await?;
    subject.check_responsive("well").await?;
    subject.check_memory(&context.config)?;
    let (_, stderr) = subject.finish(LONG).await?;
    env.check_no_processes().await?;
    let offered = env.requests().iter().map(|request| request.tools.len()).max().unwrap_or_default();
    if defect == "offers-many" && offered < MANY && stderr.trim().is_empty() {
        return Err(AttackError::finding(format!(
            "the agent offers its model at most {offered} of {MANY} tools, without a warning on stderr"
        )));
    }
    Ok(used)
}

/// Starts a tool call that never gets an answer, and aborts it.
async fn abort_hanging_call(
    agent: &mut super::agent::AgentUnderTest,
    called: impl Fn() -> bool,
) -> Result<(), AttackError> {
    let prompt = agent.codec.prompt("hanging", "go");
    agent.send(prompt);
    let begun = Instant::now();
    while !called() {
        if begun.elapsed() > LONG {
            return Err(AttackError::finding("the agent did not call the tool of the server"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stop = agent.codec.stop("stop");
    agent.request("stop", stop).await?;
    super::abort::wait_until_idle(agent, "hanging").await
}

/// Observes an idle agent and checks its number of list requests. Returns the processor time of the agent.
async fn observe_idle(
    agent: &super::agent::AgentUnderTest,
    lists: impl Fn() -> u64,
) -> Result<u64, AttackError> {
    let (before, ticks, begun) = (lists(), usage::cpu_ticks(agent.id()), Instant::now());
    tokio::time::sleep(IDLE).await;
    let asked = lists() - before;
    let used = usage::cpu_ticks(agent.id()).unwrap_or_default() - ticks.unwrap_or_default();
    if asked as f64 > FIRST_LISTS + LISTS_PER_SECOND * begun.elapsed().as_secs_f64() {
        return Err(AttackError::finding(format!(
            "the agent listed the tools {asked} times while idle ({used} ticks)"
        )));
    }
    Ok(used)
}
