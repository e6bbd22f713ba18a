//! Calls of tools with hostile arguments.

use serde_json::{Map, Value, json};

use super::abort::run;
use super::victim::{LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "tools",
    says: "hostile arguments of tools and commands that are killed: each call has a result, memory is bounded",
    carry_out: |round| Box::pin(attack(round)),
};

/// Number of calls in one run.
const CALLS: usize = 12;

/// Creates the targets of hostile paths.
const SETUP: &str = "mkfifo fifo; ln -s loop-b loop-a; ln -s loop-a loop-b; ln -s / root; mkdir 'line
feed'; echo text > 'line
feed/file'; printf 'a\\033]52;c;eA==\\007b' > control; truncate -s 3G sparse; mkdir -p deep; ln -s ../deep deep/again";

/// Paths on which no tool may hang or use unbounded memory.
const PATHS: &[&str] = &[
    "fifo",
    "/dev/zero",
    "/dev/stdin",
    "/proc/self/mem",
    "loop-a",
    "root/no/such",
    "line\nfeed/file",
    "control",
    "sparse",
    "deep/again/again/again",
    "",
    ".",
    "\u{0}",
    "../../../../../../../../dev/zero",
    "~nobody/x",
    "\u{202e}txt",
];

/// Shell commands that end by themselves, or with the shell.
const COMMANDS: &[&str] = &[
    "kill -9 $$",
    "kill -SEGV $$",
    "head -c 300000000 /dev/zero",
    "head -c 100000000 /dev/zero | tr '\\0' x",
    "yes | head -n 2000000",
    "printf '\\033[2J\\033]0;title\\007\\377\\376\\r\\r\\r'",
    "sleep 60 & echo left behind",
    "(trap '' TERM HUP; exec sleep 60) & disown; exit 3",
    "exec 1>&- 2>&-; sleep 0.1",
    "echo $(seq 20000)",
    "exec < fifo & exit",
    "exit 255",
    "\u{0}",
    "",
    "printf 'no end'",
    "cd line*; pwd",
];

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let (mut calls, mut agents, mut memory) = (0, 0, 0);
    let (tools, shell) = offered(round).await?;
    while agents == 0 || round.goes_on() {
        // No command is repeated in one agent: some take seconds.
        let mut commands = COMMANDS.to_vec();
        round.rng.shuffle(&mut commands);
        let drawn: Vec<Value> = (0..CALLS).map(|_| call(round, &tools, &shell, &mut commands)).collect();
        memory = one(round, &drawn).await?.max(memory);
        calls += drawn.len() as u64;
        agents += 1;
    }
    let offered = tools.len() as u64;
    Ok(vec![("calls of tools", calls), ("tools", offered), ("MiB of memory at most", memory)])
}

/// Returns the tools that the agent offers its model, and its shell.
async fn offered(round: &Round) -> Result<(Vec<String>, String), Trouble> {
    let site = Site::new(&round.field, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let mut victim = site.start().await?;
    run(&mut victim, "offered").await?;
    victim.finish(LONG).await?;
    match site.requests().last() {
        Some(last) if !last.tools.is_empty() => Ok((last.tools.clone(), site.speech().shell().to_owned())),
        _ => Err(Trouble::NotHere("the agent offers no tools to the model of its profile".to_owned())),
    }
}

fn call(round: &mut Round, tools: &[String], shell: &str, commands: &mut Vec<&str>) -> Value {
    let rng = &mut round.rng;
    let path = PATHS[rng.usize(..PATHS.len())];
    let name = match rng.u8(..16) {
        0 => "no_such_tool".to_owned(),
        1..6 => shell.to_owned(),
        _ => tools[rng.usize(..tools.len())].clone(),
    };
    let arguments = if name == shell {
        match rng.u8(..12) {
            0 => json!({"command": 5}),
            1 => json!({}),
            _ => json!({"command": commands.pop()}),
        }
    } else {
        arguments(rng, path)
    };
    json!({"tool": {"name": name, "args": arguments}})
}

/// Returns arguments for any tool that takes a path, a pattern or a text.
fn arguments(rng: &mut fastrand::Rng, path: &str) -> Value {
    let text = [json!("x"), json!("x".repeat(1 << 20)), json!(null), json!(-1), json!({"a": []})];
    let mut any = || text[rng.usize(..text.len())].clone();
    let mut all = Map::from_iter([("path".to_owned(), json!(path))]);
    for name in ["pattern", "content", "offset", "limit", "edits", "oldText", "newText"] {
        all.insert(name.to_owned(), any());
    }
    if rng.bool() {
        all.retain(|name, _| name == "path" || rng.bool());
    }
    Value::Object(all)
}

/// Runs calls one after the other. Returns the maximum memory of the agent.
async fn one(round: &Round, calls: &[Value]) -> Result<u64, Trouble> {
    let responses: Vec<Value> = calls.iter().map(|call| json!({"blocks": [call]})).collect();
    let site = Site::with(
        &round.field,
        json!({"responses": responses, "default": {"text": "over"}}),
        json!({"setup": [SETUP]}),
    )
    .await?;
    let mut victim = site.start().await?;
    let before = site.requests().len();
    let prompt = victim.speech.prompt("go", "go");
    victim.send(prompt);
    // A call may use up its own time limit; each event restarts the time limit of the wait.
    let outcome = async {
        let ends = victim.speech.spec.run_end.answer_ends;
        victim
            .until("the end of the run", |speech, heard| match &heard.said {
                super::speech::Said::Event(name) => !ends && speech.may_end(name),
                _ => ends && heard.answers("go"),
            })
            .await?;
        super::abort::settled(&mut victim, "go").await
    }
    .await;
    let asked = site.requests().len() - before;
    let shown = |call: &Value| call["tool"].to_string().chars().take(300).collect::<String>();
    if let Err(Trouble::Found(text)) = outcome {
        let last = asked.checked_sub(1).and_then(|at| calls.get(at)).map(shown).unwrap_or_default();
        return Err(Trouble::found(format!("{text}; the last call was {last}")));
    }
    outcome?;
    if asked <= calls.len() {
        let last = asked.checked_sub(1).and_then(|at| calls.get(at)).map(shown).unwrap_or_default();
        return Err(Trouble::found(format!("the model got no result of the call {last}")));
    }
    victim.is_well("well").await?;
    let memory = victim.memory_is_bounded(&round.field)?;
    victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    Ok(memory)
}
