//! Attack: sends random commands.

use agentese::spec::{AnswerTiming, RunRole};
use serde_json::json;

use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::random;
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "commands",
    description: "random commands, valid and invalid: each has exactly one answer",
    run: |context| Box::pin(attack(context)),
};

/// Maximum number of commands in a batch.
const AT_ONCE: usize = 32;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let (mut commands, mut agents) = (0, 0);
    while agents == 0 || context.has_time() {
        commands += send_batches(context).await?;
        agents += 1;
    }
    Ok(vec![("commands", commands), ("agents", agents)])
}

/// Sends up to two thousand commands to one agent, as far as the time allows.
async fn send_batches(context: &mut AttackContext) -> Result<u64, AttackError> {
    let env =
        AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK.", "delay_ms": 1}}))
            .await?;
    let mut agent = env.start().await?;
    let mut sent: Vec<(String, bool)> = Vec::new();
    while sent.len() < 2000 && (sent.len() < AT_ONCE || context.has_time()) {
        let batch = context.rng.usize(1..=AT_ONCE);
        for _ in 0..batch {
            let id = format!("r{}", sent.len());
            let (command, line) = random::command(&agent.codec, &mut context.rng, &id);
            let spec = agent.codec.spec.command(command.wire);
            let may_fail_later = spec.is_some_and(|spec| spec.answer == AnswerTiming::Acknowledged);
            agent.send(line);
            sent.push((id, may_fail_later));
        }
        wait_for_answers(&mut agent, &sent[sent.len() - batch..]).await?;
    }
    agent.check_responsive("last").await?;
    let count = agent.check_answered_once(sent.into_iter())?;
    agent.check_memory(&context.config)?;
    agent.finish(LONG).await?;
    env.check_no_processes().await?;
    Ok(count)
}

/// Waits for an answer to each command of a batch. Stops runs, because some commands are answered only after
/// a run.
async fn wait_for_answers(agent: &mut AgentUnderTest, batch: &[(String, bool)]) -> Result<(), AttackError> {
    let stops = agent.codec.spec.commands.iter().any(|command| command.run == RunRole::Stops);
    if stops {
        let stop = agent.codec.stop(&format!("stop-{}", batch[0].0));
        agent.send(stop);
    }
    while let Some((open, _)) = batch.iter().find(|(id, _)| !agent.answers.contains_key(id)) {
        let what = format!("the answer to {open}");
        if agent.next(&what, LONG).await?.is_none() {
            return Err(AttackError::finding(format!("the agent ended before {what}")));
        }
    }
    Ok(())
}
