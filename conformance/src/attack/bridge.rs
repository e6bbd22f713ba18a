//! Attack on a bridge: its agent stops, dies, or writes lines outside of its dialect.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::abort::run;
use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::codec::DialectCodec;
use super::stand_in::StandIn;
use super::{Attack, AttackContext, AttackError, AttackFindings, Counts, usage};
use crate::generated::DIALECTS;

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "bridge",
    description: "an agent behind a bridge stops, dies, or writes garbage: each command has one answer, memory is bounded",
    run: |context| Box::pin(attack(context)),
};

/// Number of prompts to a stopped agent.
const QUEUED_PROMPTS: u64 = 2500;
/// Length of each prompt in bytes.
const PROMPT_LENGTH: usize = 1000;
/// Maximum growth of the bridge's memory for these prompts, in MiB: some kB for each prompt, and the overhead
/// of an allocator.
const GROWTH: u64 = 48;
/// Time without a frame after which all rejections without an id are considered received.
const QUIET: Duration = Duration::from_secs(5);
/// Number of runs with an agent that writes garbage.
const RUNS: u64 = 5;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let Some(line) = context.config.surfaces.bridge.clone() else {
        return Err(AttackError::NotApplicable("--bridge is not given".to_owned()));
    };
    let own = DialectCodec::of(&context.config.profile.dialect).map(|codec| codec.spec.name);
    let fronts: Vec<DialectCodec> = DIALECTS
        .iter()
        .filter(|tables| Some(tables.name) != own)
        .filter_map(|tables| DialectCodec::of(tables.name))
        .collect();
    let first = context.rng.usize(..fronts.len());
    let mut found = AttackFindings::default();
    let (mut runs, mut grown, mut bridges) = (0, 0, 0);
    while bridges == 0 || (found.is_empty() && context.has_time()) {
        let front = fronts[(first + bridges as usize) % fronts.len()].clone();
        runs += found
            .record(with_dialect(&front, test_garbage(context, &line, &front).await))?
            .unwrap_or_default();
        grown = found
            .record(with_dialect(&front, test_stopped_agent(context, &line, &front).await))?
            .unwrap_or_default()
            .max(grown);
        bridges += 1;
    }
    found.finish(vec![
        ("bridges", 2 * bridges),
        ("runs with an agent that babbles", runs),
        ("waiting prompts", bridges * QUEUED_PROMPTS),
        ("MiB of memory for them at most", grown),
    ])
}

/// Adds the name of the client's dialect to a finding.
fn with_dialect<T>(front: &DialectCodec, result: Result<T, AttackError>) -> Result<T, AttackError> {
    result.map_err(|trouble| match trouble {
        AttackError::Finding(text) => {
            AttackError::Finding(format!("with a client of {}: {text}", front.spec.name))
        }
        other => other,
    })
}

async fn start(
    env: &AttackEnv,
    line: &str,
    front: &DialectCodec,
    agent: &[String],
) -> Result<AgentUnderTest, AttackError> {
    let argv = env.surface(line, agent, &[("front", vec![front.spec.id()])]);
    env.open(env.spawn(&argv, front.clone())?).await
}

/// Tests a bridge whose agent writes garbage between its lines. The bridge must still forward the agent's
/// frames.
async fn test_garbage(
    context: &mut AttackContext,
    line: &str,
    front: &DialectCodec,
) -> Result<u64, AttackError> {
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let garble =
        StandIn::Garble { seed: context.rng.u64(..), command: env.surface("{agent}", env.agent(), &[]) };
    let mut bridge = start(&env, line, front, &garble.command()?).await?;
    for number in 0..RUNS {
        run(&mut bridge, &format!("run-{number}")).await?;
    }
    bridge.check_memory(&context.config)?;
    bridge.finish(LONG).await?;
    env.check_no_processes().await?;
    Ok(RUNS)
}

/// Stops an agent while prompts arrive, then kills it. The memory of the bridge must stay small, and each
/// prompt must have an answer.
async fn test_stopped_agent(
    context: &mut AttackContext,
    line: &str,
    front: &DialectCodec,
) -> Result<u64, AttackError> {
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK."}})).await?;
    let agent = env.agent().to_vec();
    let mut bridge = start(&env, line, front, &agent).await?;
    run(&mut bridge, "first-run").await?;
    let behind = usage::children(bridge.id());
    if behind.is_empty() {
        return Err(AttackError::NotApplicable(
            "cannot find the process of the agent behind the bridge".to_owned(),
        ));
    }
    let before = usage::memory(bridge.id()).unwrap_or_default();
    signal(&behind, Signal::STOP);
    let words = "x".repeat(PROMPT_LENGTH);
    let ids: Vec<String> = (0..QUEUED_PROMPTS).map(|number| format!("waiting-{number}")).collect();
    for id in &ids {
        bridge.send(bridge.codec.prompt(id, &words));
    }
    let well = wait_until_read(&mut bridge).await;
    let grown = usage::memory(bridge.id()).unwrap_or_default().saturating_sub(before);
    signal(&behind, Signal::KILL);
    well?;
    let mut ended = false;
    while ids.iter().any(|id| !bridge.answers.contains_key(id)) && !ended {
        ended = bridge.next("the answers after the agent's death", LONG).await?.is_none();
    }
    let later = bridge.codec.spec.commands.iter().any(|command| {
        command.run == agentese::spec::RunRole::Starts
            && command.answer == agentese::spec::AnswerTiming::Acknowledged
    });
    bridge.check_answered_once(ids.into_iter().map(|id| (id, later)))?;
    let (exit, _) = bridge.finish(LONG).await?;
    if exit.success() {
        return Err(AttackError::finding("the bridge exited with code 0 after its agent was killed"));
    }
    env.check_no_processes().await?;
    if grown > GROWTH {
        return Err(AttackError::finding(format!(
            "{QUEUED_PROMPTS} queued prompts of {PROMPT_LENGTH} bytes use {grown} MiB; the limit is {GROWTH} MiB"
        )));
    }
    Ok(grown)
}

/// Waits until the bridge answers a request that follows the prompts. In dialects whose rejections have no
/// id, waits until no further frame arrives.
async fn wait_until_read(bridge: &mut AgentUnderTest) -> Result<(), AttackError> {
    let question = bridge.codec.query("behind-the-prompts");
    bridge.send(question);
    while !bridge.answers.contains_key("behind-the-prompts") {
        let next = bridge.next("the answer to the request after the prompts", LONG);
        match tokio::time::timeout(QUIET, next).await {
            Ok(line) => {
                if line?.is_none() {
                    return Err(AttackError::finding("the bridge ended before its agent did"));
                }
            }
            // The answers after the agent's death are checked below.
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
