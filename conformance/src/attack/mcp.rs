//! MCP servers that flood, write garbage, hang and die.

use std::time::{Duration, Instant};

use serde_json::json;

use super::abort::run;
use super::stand_in::{MANY, StandIn, TOOL};
use super::victim::{LONG, Site};
use super::{Attack, Counts, Findings, Round, Trouble, usage};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "mcp",
    says: "MCP servers that flood, babble, hang, die: the agent answers, rests while idle, and leaves no process",
    carry_out: |round| Box::pin(attack(round)),
};

/// The defects; the first one is observed while the agent is idle.
const DEFECTS: [&str; 7] = [
    "changes-its-tools",
    "offers-many",
    "lists-without-end",
    "babbles",
    "dies-in-a-call",
    "hangs-in-a-call",
    "says-nothing",
];
/// Duration of the observation of an idle agent. The limit grows with the time, so a slow machine causes no
/// findings.
const IDLE: Duration = Duration::from_secs(3);
/// Permitted number of list requests for each second, and at the start.
const LISTS: f64 = 5.0;
const FIRST_LISTS: f64 = 20.0;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let Some(file) = round.field.surfaces.mcp.clone() else {
        return Err(Trouble::NotHere("no --mcp is given".to_owned()));
    };
    let mut found = Findings::default();
    let (mut servers, mut calls, mut ticks) = (0, 0, 0);
    while servers < DEFECTS.len() as u64 || (found.is_empty() && round.goes_on()) {
        let at = servers as usize;
        let defect = DEFECTS.get(at).copied().unwrap_or_else(|| DEFECTS[round.rng.usize(..DEFECTS.len())]);
        let used = one(round, &file, defect).await.map_err(|trouble| match trouble {
            Trouble::Found(text) => Trouble::Found(format!("with a server that {}: {text}", says(defect))),
            other => other,
        });
        if let Some(used) = found.note(used)? {
            calls += used.calls;
            ticks = used.ticks.max(ticks);
        }
        servers += 1;
    }
    found.or(vec![("servers", servers), ("calls", calls), ("ticks of an idle agent at most", ticks)])
}

fn says(defect: &str) -> String {
    defect.replace('-', " ")
}

#[derive(Default)]
struct Used {
    calls: u64,
    ticks: u64,
}

async fn one(round: &Round, file: &str, defect: &str) -> Result<Used, Trouble> {
    let log = tempfile::NamedTempFile::new().map_err(|error| Trouble::Ground(error.to_string()))?;
    let server = StandIn::Mcp { defect: defect.to_owned(), log: log.path().to_owned() }.command()?;
    let config = json!({"mcpServers": {"stand-in": {"command": server[0], "args": server[1..]}}});
    let script = json!({"responses": [
        {"when": {"tool_results": false}, "blocks": [{"tool": {"name": TOOL, "args": {}}}]},
    ], "default": {"text": "OK."}});
    let site = Site::with(&round.field, script, json!({"files": {file: {"json": config}}})).await?;
    let mut victim = site.start().await?;
    let heard = || std::fs::read_to_string(log.path()).unwrap_or_default();
    let count = |what: &str| heard().lines().filter(|line| *line == what).count() as u64;
    let mut used = Used::default();
    if defect == "hangs-in-a-call" {
        hanging(&mut victim, || count("tools/call") > 0).await?;
    } else {
        run(&mut victim, "with-the-server").await?;
    }
    if heard().is_empty() {
        return Err(Trouble::Ground(format!("the agent did not start the MCP server that {file} names")));
    }
    used.calls = count("tools/call");
    if defect == "changes-its-tools" {
        used.ticks = idle(&victim, || count("tools/list")).await?;
    }
    run(&mut victim, "again").await?;
    victim.is_well("well").await?;
    victim.memory_is_bounded(&round.field)?;
    let (_, stderr) = victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    let offered = site.requests().iter().map(|request| request.tools.len()).max().unwrap_or_default();
    if defect == "offers-many" && offered < MANY && stderr.trim().is_empty() {
        return Err(Trouble::found(format!(
            "of {MANY} tools the model is offered {offered} at most, and nobody is told: its stderr is empty"
        )));
    }
    Ok(used)
}

/// Starts a call that never gets an answer, and aborts it.
async fn hanging(victim: &mut super::victim::Victim, called: impl Fn() -> bool) -> Result<(), Trouble> {
    let prompt = victim.speech.prompt("hanging", "go");
    victim.send(prompt);
    let begun = Instant::now();
    while !called() {
        if begun.elapsed() > LONG {
            return Err(Trouble::found("the tool of the server was not called"));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stop = victim.speech.stop("stop");
    victim.ask("stop", stop).await?;
    super::abort::settled(victim, "hanging").await
}

/// Observes an idle agent. Returns its processor time.
async fn idle(victim: &super::victim::Victim, lists: impl Fn() -> u64) -> Result<u64, Trouble> {
    let (before, ticks, begun) = (lists(), usage::ticks(victim.id()), Instant::now());
    tokio::time::sleep(IDLE).await;
    let asked = lists() - before;
    let used = usage::ticks(victim.id()).unwrap_or_default() - ticks.unwrap_or_default();
    if asked as f64 > FIRST_LISTS + LISTS * begun.elapsed().as_secs_f64() {
        return Err(Trouble::found(format!(
            "it asked for the tools {asked} times while idle ({used} ticks)"
        )));
    }
    Ok(used)
}
