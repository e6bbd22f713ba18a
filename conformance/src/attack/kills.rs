//! Attack: sends SIGKILL at any moment of a run.

use std::time::Duration;

use serde_json::{Value, json};

use super::agent::{AttackEnv, LONG, ReceivedLine};
use super::codec::{DialectCodec, LineKind};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "kills",
    description: "SIGKILL at any moment of a run: no finished message is lost, no process is left",
    run: |context| Box::pin(attack(context)),
};

/// Maximum time between a prompt and the kill.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Returns a script with two kinds of turns. One runs a command that leaves a process behind for a minute;
/// the other runs a command that takes time.
fn script(shell: &str) -> Value {
    let lasting = "(exec sleep 60) & echo started; sleep 0.02";
    let turn = |number: usize| {
        json!({"delay_ms": 2, "blocks": [
            {"text": ["Turn ", &number.to_string(), " begins."]},
            {"tool": {"name": shell, "args": {"command": lasting}}},
        ]})
    };
    let last = json!({"blocks": [{"tool": {"name": shell, "args": {"command": "exec sleep 60"}}}]});
    json!({"responses": [turn(1), turn(2), turn(3), last], "default": {"text": "over"}})
}

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let (mut kills, mut messages) = (0, 0);
    while kills == 0 || context.has_time() {
        let moment = Duration::from_micros(context.rng.u64(..MAX_DELAY.as_micros() as u64));
        messages += kill_after(context, moment).await?;
        kills += 1;
    }
    Ok(vec![("kills", kills), ("finished messages that were kept", messages)])
}

async fn kill_after(context: &AttackContext, moment: Duration) -> Result<u64, AttackError> {
    let codec = DialectCodec::of(&context.config.profile.dialect);
    let shell = codec.as_ref().map_or("bash", |codec| codec.shell_tool());
    let env = AttackEnv::new(&context.config, script(shell)).await?;
    let mut agent = env.start().await?;
    let kept = session_path(&mut agent).await?;
    let prompt = agent.codec.prompt("go", "go");
    agent.send(prompt);
    // Frames are read until the random moment of the kill.
    let mut seen = Vec::new();
    let end = tokio::time::Instant::now() + moment;
    while let Ok(line) = tokio::time::timeout_at(end, agent.next("an event", LONG)).await {
        match line? {
            Some(line) => collect_message(&agent.codec, &line, &mut seen),
            None => return Err(AttackError::finding("the agent ended before the kill")),
        }
    }
    agent.kill();
    // Output from before the kill is read. An incomplete last line is not a frame.
    while let Ok(Some(line)) = agent.next("the output before the kill", LONG).await {
        collect_message(&agent.codec, &line, &mut seen);
    }
    drop(agent);
    env.check_no_processes().await?;
    let Some(file) = kept else { return Ok(0) };
    if !seen.is_empty() {
        check(&env, &file, &seen).await?;
    }
    Ok(seen.len() as u64)
}

/// Returns the path of the session's file. Returns `None` if the dialect does not report it, or cannot
/// open a session by its path.
async fn session_path(agent: &mut super::agent::AgentUnderTest) -> Result<Option<String>, AttackError> {
    let Some(question) = agent.codec.session_path_request("state") else { return Ok(None) };
    let answer = serde_json::from_slice(&agent.request("state", question).await?).unwrap_or_default();
    Ok(agent.codec.session_path(&answer))
}

fn collect_message(codec: &DialectCodec, line: &ReceivedLine, seen: &mut Vec<Value>) {
    if matches!(&line.kind, LineKind::Event(name) if codec.ends_message(name)) {
        let frame = line.value();
        let event = frame.get("event").filter(|event| event.is_object()).unwrap_or(&frame);
        seen.push(event["message"].clone());
    }
}

/// Checks that another agent, which opens the session file, reports all observed messages in order.
async fn check(env: &AttackEnv, file: &str, seen: &[Value]) -> Result<(), AttackError> {
    let mut reader = env.start().await?;
    let Some(opening) = reader.codec.open("open-again", file) else { return Ok(()) };
    reader.request("open-again", opening).await?;
    let Some(question) = reader.codec.history("history") else { return Ok(()) };
    let answer: Value =
        serde_json::from_slice(&reader.request("history", question).await?).unwrap_or_default();
    let kept = reader.codec.messages(&answer);
    let mut rest = kept.iter();
    if let Some(lost) = seen.iter().position(|message| !rest.any(|kept| kept == message)) {
        return Err(AttackError::finding(format!(
            "message {} of {} completed messages is lost; {} are stored in {file}",
            lost + 1,
            seen.len(),
            kept.len()
        )));
    }
    reader.finish(LONG).await?;
    env.check_no_processes().await
}
