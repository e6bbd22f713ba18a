//! Attack: calls tools with hostile arguments.

use serde_json::{Map, Value, json};

use super::abort::run;
use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "tools",
    description: "hostile tool arguments and killed commands: each call has a result, memory is bounded",
    run: |context| Box::pin(attack(context)),
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

/// Shell commands that end by themselves, or at the latest when their shell ends.
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

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let (mut calls, mut agents, mut memory) = (0, 0, 0);
    let (tools, shell) = offered_tools(context).await?;
    while agents == 0 || context.has_time() {
        // A command is not repeated within one agent, because some commands take seconds.
        let mut commands = COMMANDS.to_vec();
        context.rng.shuffle(&mut commands);
        let drawn: Vec<Value> = (0..CALLS).map(|_| call(context, &tools, &shell, &mut commands)).collect();
        memory = run_calls(context, &drawn).await?.max(memory);
        calls += drawn.len() as u64;
        agents += 1;
    }
    let offered = tools.len() as u64;
    Ok(vec![("calls of tools", calls), ("tools", offered), ("MiB of memory at most", memory)])
}

/// Returns the tools that the agent offers to its model, and the name of its shell tool.
async fn offered_tools(context: &AttackContext) -> Result<(Vec<String>, String), AttackError> {
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let mut subject = env.start().await?;
    run(&mut subject, "offered").await?;
    subject.finish(LONG).await?;
    match env.requests().last() {
        Some(last) if !last.tools.is_empty() => Ok((last.tools.clone(), env.codec().shell_tool().to_owned())),
        _ => Err(AttackError::NotApplicable(
            "the agent offers no tools to the model of its profile".to_owned(),
        )),
    }
}

fn call(context: &mut AttackContext, tools: &[String], shell: &str, commands: &mut Vec<&str>) -> Value {
    let rng = &mut context.rng;
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

/// Runs tool calls one after the other. Returns the peak memory of the agent in MiB.
async fn run_calls(context: &AttackContext, calls: &[Value]) -> Result<u64, AttackError> {
    let responses: Vec<Value> = calls.iter().map(|call| json!({"blocks": [call]})).collect();
    let env = AttackEnv::with(
        &context.config,
        json!({"responses": responses, "default": {"text": "over"}}),
        json!({"setup": [SETUP]}),
    )
    .await?;
    let mut agent = env.start().await?;
    let before = env.requests().len();
    let prompt = agent.codec.prompt("go", "go");
    agent.send(prompt);
    let total = LONG * u32::try_from(calls.len()).unwrap_or(u32::MAX);
    let outcome = async {
        let ends = agent.codec.spec.run_end.answer_ends;
        agent
            .read_until_within(total, "the end of the run", |codec, line| match &line.kind {
                super::codec::LineKind::Event(name) => !ends && codec.may_end(name),
                _ => ends && line.answers("go"),
            })
            .await?;
        super::abort::wait_until_idle(&mut agent, "go").await
    }
    .await;
    let asked = env.requests().len() - before;
    let shown = |call: &Value| call["tool"].to_string().chars().take(300).collect::<String>();
    if let Err(AttackError::Finding(text)) = outcome {
        let last = asked.checked_sub(1).and_then(|at| calls.get(at)).map(shown).unwrap_or_default();
        return Err(AttackError::finding(format!("{text}; the last call was {last}")));
    }
    outcome?;
    if asked <= calls.len() {
        let last = asked.checked_sub(1).and_then(|at| calls.get(at)).map(shown).unwrap_or_default();
        return Err(AttackError::finding(format!("the model received no result of the call {last}")));
    }
    agent.check_responsive("well").await?;
    let memory = agent.check_memory(&context.config)?;
    agent.finish(LONG).await?;
    env.check_no_processes().await?;
    Ok(memory)
}
