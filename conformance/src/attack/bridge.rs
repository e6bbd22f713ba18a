//! A bridge whose agent stops, dies, or writes lines outside of its dialect.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::abort::run;
use super::speech::Speech;
use super::stand_in::StandIn;
use super::victim::{LONG, Site, Victim};
use super::{Attack, Counts, Findings, Round, Trouble, usage};
use crate::generated::DIALECTS;

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "bridge",
    says: "an agent behind a bridge that stops, dies, babbles: each command has one answer, memory is bounded",
    carry_out: |round| Box::pin(attack(round)),
};

/// Number of prompts to a stopped agent.
const WAITING: u64 = 2500;
/// Length of each prompt in bytes.
const WORDS: usize = 1000;
/// Maximum growth of the bridge's memory for them, in MiB: some kB each, and the overhead of an allocator.
const GROWTH: u64 = 48;
/// Time without a frame from a bridge after rejections without ids.
const QUIET: Duration = Duration::from_secs(5);
/// Number of runs with an agent that writes garbage.
const RUNS: u64 = 5;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let Some(line) = round.field.surfaces.bridge.clone() else {
        return Err(Trouble::NotHere("no --bridge is given".to_owned()));
    };
    let own = Speech::of(&round.field.profile.dialect).map(|speech| speech.spec.name);
    let fronts: Vec<Speech> = DIALECTS
        .iter()
        .filter(|tables| Some(tables.name) != own)
        .filter_map(|tables| Speech::of(tables.name))
        .collect();
    let first = round.rng.usize(..fronts.len());
    let mut found = Findings::default();
    let (mut runs, mut grown, mut bridges) = (0, 0, 0);
    while bridges == 0 || (found.is_empty() && round.goes_on()) {
        let front = fronts[(first + bridges as usize) % fronts.len()].clone();
        runs += found.note(named(&front, babbling(round, &line, &front).await))?.unwrap_or_default();
        grown =
            found.note(named(&front, stopped(round, &line, &front).await))?.unwrap_or_default().max(grown);
        bridges += 1;
    }
    found.or(vec![
        ("bridges", 2 * bridges),
        ("runs with an agent that babbles", runs),
        ("waiting prompts", bridges * WAITING),
        ("MiB of memory for them at most", grown),
    ])
}

/// Adds the client's dialect to a finding.
fn named<T>(front: &Speech, result: Result<T, Trouble>) -> Result<T, Trouble> {
    result.map_err(|trouble| match trouble {
        Trouble::Found(text) => Trouble::Found(format!("to a client of {}: {text}", front.spec.name)),
        other => other,
    })
}

async fn start(site: &Site, line: &str, front: &Speech, agent: &[String]) -> Result<Victim, Trouble> {
    let argv = site.surface(line, agent, &[("front", vec![front.spec.id()])]);
    site.open(site.spawn(&argv, front.clone())?).await
}

/// Tests an agent with garbage between its lines: the bridge must forward its frames.
async fn babbling(round: &mut Round, line: &str, front: &Speech) -> Result<u64, Trouble> {
    let site = Site::new(&round.field, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let garble =
        StandIn::Garble { seed: round.rng.u64(..), command: site.surface("{agent}", site.agent(), &[]) };
    let mut victim = start(&site, line, front, &garble.command()?).await?;
    for number in 0..RUNS {
        run(&mut victim, &format!("run-{number}")).await?;
    }
    victim.memory_is_bounded(&round.field)?;
    victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    Ok(RUNS)
}

/// Stops an agent while prompts arrive, then kills it. The memory of the bridge must stay small, and each
/// prompt must have an answer.
async fn stopped(round: &mut Round, line: &str, front: &Speech) -> Result<u64, Trouble> {
    let site = Site::new(&round.field, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let agent = site.agent().to_vec();
    let mut victim = start(&site, line, front, &agent).await?;
    run(&mut victim, "first-run").await?;
    let behind = usage::children(victim.id());
    if behind.is_empty() {
        return Err(Trouble::NotHere("the system does not show the agent behind the bridge".to_owned()));
    }
    let before = usage::memory(victim.id()).unwrap_or_default();
    signal(&behind, Signal::STOP);
    let words = "x".repeat(WORDS);
    let ids: Vec<String> = (0..WAITING).map(|number| format!("waiting-{number}")).collect();
    for id in &ids {
        victim.send(victim.speech.prompt(id, &words));
    }
    let well = has_read_them(&mut victim).await;
    let grown = usage::memory(victim.id()).unwrap_or_default().saturating_sub(before);
    signal(&behind, Signal::KILL);
    well?;
    let mut ended = false;
    while ids.iter().any(|id| !victim.answers.contains_key(id)) && !ended {
        ended = victim.next("the answers after the agent's death", LONG).await?.is_none();
    }
    let later = victim.speech.spec.commands.iter().any(|command| {
        command.run == agentese::spec::RunRole::Starts
            && command.answer == agentese::spec::Answer::Acknowledged
    });
    victim.each_is_answered_once(ids.into_iter().map(|id| (id, later)))?;
    let (exit, _) = victim.finish(LONG).await?;
    if exit.success() {
        return Err(Trouble::found("the agent behind was killed, and the bridge ended with 0"));
    }
    site.nothing_is_left().await?;
    if grown > GROWTH {
        return Err(Trouble::found(format!(
            "{WAITING} prompts of {WORDS} bytes that wait for an agent that has stopped take {grown} MiB; \
             {GROWTH} are allowed"
        )));
    }
    Ok(grown)
}

/// Waits for the answer to a request after the prompts. In some dialects a rejection has no id; there the
/// wait ends when no further frame arrives.
async fn has_read_them(victim: &mut Victim) -> Result<(), Trouble> {
    let question = victim.speech.question("behind-the-prompts");
    victim.send(question);
    while !victim.answers.contains_key("behind-the-prompts") {
        let next = victim.next("the answer behind the prompts", LONG);
        match tokio::time::timeout(QUIET, next).await {
            Ok(heard) => {
                if heard?.is_none() {
                    return Err(Trouble::found("the bridge ended before its agent"));
                }
            }
            // Answers after the agent's death show if a prompt was lost.
            Err(_) => break,
        }
    }
    Ok(())
}

fn signal(pids: &[u32], signal: Signal) {
    for pid in pids.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?)) {
        let _ = kill_process(pid, signal);
    }
}
