//! Random commands.

use agentese::spec::{Answer, RunRole};
use serde_json::json;

use super::random;
use super::victim::{LONG, Site, Victim};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "commands",
    says: "random commands, as declared and not: each has exactly one answer",
    carry_out: |round| Box::pin(attack(round)),
};

/// Maximum number of concurrent commands.
const AT_ONCE: usize = 32;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let (mut commands, mut agents) = (0, 0);
    while agents == 0 || round.goes_on() {
        commands += one(round).await?;
        agents += 1;
    }
    Ok(vec![("commands", commands), ("agents", agents)])
}

/// Sends two thousand commands, or as many as the time allows, to one agent.
async fn one(round: &mut Round) -> Result<u64, Trouble> {
    let site =
        Site::new(&round.field, json!({"responses": [], "default": {"text": "OK.", "delay_ms": 1}})).await?;
    let mut victim = site.start().await?;
    let mut sent: Vec<(String, bool)> = Vec::new();
    while sent.len() < 2000 && (sent.len() < AT_ONCE || round.goes_on()) {
        let batch = round.rng.usize(1..=AT_ONCE);
        for _ in 0..batch {
            let id = format!("r{}", sent.len());
            let (command, line) = random::command(&victim.speech, &mut round.rng, &id);
            let spec = victim.speech.spec.command(command.wire);
            let may_fail_later = spec.is_some_and(|spec| spec.answer == Answer::Acknowledged);
            victim.send(line);
            sent.push((id, may_fail_later));
        }
        settle(&mut victim, &sent[sent.len() - batch..]).await?;
    }
    victim.is_well("last").await?;
    let count = victim.each_is_answered_once(sent.into_iter())?;
    victim.memory_is_bounded(&round.field)?;
    victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    Ok(count)
}

/// Waits for an answer to each command of a batch. A stop command ends runs that commands wait for.
async fn settle(victim: &mut Victim, batch: &[(String, bool)]) -> Result<(), Trouble> {
    let stops = victim.speech.spec.commands.iter().any(|command| command.run == RunRole::Stops);
    if stops {
        let stop = victim.speech.stop(&format!("stop-{}", batch[0].0));
        victim.send(stop);
    }
    while let Some((open, _)) = batch.iter().find(|(id, _)| !victim.answers.contains_key(id)) {
        let what = format!("the answer to {open}");
        if victim.next(&what, LONG).await?.is_none() {
            return Err(Trouble::found(format!("{what}: it ended")));
        }
    }
    Ok(())
}
