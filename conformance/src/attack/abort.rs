//! Attack: aborts a run at each of its events.

use std::time::Duration;

use agentese::spec::{AnswerTiming, RunRole};
use serde_json::{Map, Value, json};

use super::agent::{AgentUnderTest, AttackEnv, LONG};
use super::codec::LineKind;
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "aborts",
    description: "an abort at each event of a run: the abort is answered, and the next prompt works",
    run: |context| Box::pin(attack(context)),
};

/// Interval between state queries while the agent still works.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum number of aborts in one session, because each abort is slower in a longer session.
const MAX_ABORTS: u64 = 60;

/// Returns the script of a run with all types of content: reasoning, streamed text, a command with output, a
/// second turn.
fn script(shell: &str) -> Value {
    json!({"responses": [
        {"when": {"tool_results": false}, "keep": true, "delay_ms": 1, "blocks": [
            {"thinking": ["Let ", "me ", "think."]}, {"text": ["I ", "will ", "look."]},
            {"tool": {"name": shell, "args": {"command": "echo one; sleep 0.02; echo two"}}},
        ]},
        {"when": {"tool_results": true}, "keep": true, "delay_ms": 1, "blocks": [{"text": ["It ", "is ", "done."]}]},
    ], "default": {"text": "OK."}})
}

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let shell = super::codec::DialectCodec::of(&context.config.profile.dialect)
        .map_or("bash", |codec| codec.shell_tool());
    let mut aborts = 0;
    let mut events = 0;
    while aborts == 0 || context.has_time() {
        let env = AttackEnv::new(&context.config, script(shell)).await?;
        let mut agent = env.start().await?;
        events = run(&mut agent, "whole").await?;
        for number in 0..MAX_ABORTS {
            // First every position in turn, then random positions.
            let at = if number < events { number } else { context.rng.u64(..events) };
            abort_after_events(&mut agent, &format!("a{number}"), at).await?;
            aborts += 1;
            if number >= 3 && !context.has_time() {
                break;
            }
        }
        agent.check_memory(&context.config)?;
        agent.finish(LONG).await?;
        env.check_no_processes().await?;
    }
    Ok(vec![("aborts", aborts), ("events of a run", events)])
}

/// Sends a prompt, an abort after `at` events, and another prompt that must succeed.
async fn abort_after_events(agent: &mut AgentUnderTest, id: &str, at: u64) -> Result<(), AttackError> {
    let prompt = agent.codec.prompt(id, "go");
    agent.send(prompt);
    let mut events = 0;
    if at > 0 {
        let what = format!("event {at} of a run");
        agent
            .read_until(&what, |codec, line| {
                let LineKind::Event(name) = &line.kind else { return false };
                events += 1;
                events >= at || codec.may_end(name)
            })
            .await?;
    }
    let stop_id = format!("{id}-stop");
    let stop = agent.codec.stop(&stop_id);
    agent.request(&stop_id, stop).await?;
    wait_until_idle(agent, id).await?;
    let may_fail_later = acknowledges(agent);
    agent.check_answered_once([(id.to_owned(), may_fail_later), (stop_id, false)].into_iter())?;
    run(agent, &format!("{id}-next")).await.map(drop)
}

fn acknowledges(agent: &AgentUnderTest) -> bool {
    let mut all = agent.codec.spec.commands.iter();
    all.any(|command| command.run == RunRole::Starts && command.answer == AnswerTiming::Acknowledged)
}

/// Sends a prompt and waits for the end of its run; returns the number of its events.
pub(super) async fn run(agent: &mut AgentUnderTest, id: &str) -> Result<u64, AttackError> {
    let prompt = agent.codec.prompt(id, "go");
    agent.send(prompt);
    let (mut events, mut answered) = (0, false);
    let answer_ends = agent.codec.spec.run_end.answer_ends;
    let what = format!("the end of {id}");
    let mut refused = None;
    agent
        .read_until(&what, |codec, line| match &line.kind {
            LineKind::Event(name) => {
                events += 1;
                !answer_ends && codec.may_end(name)
            }
            LineKind::Answer(own, success) if own.as_deref() == Some(id) => {
                answered = true;
                if !success {
                    refused =
                        Some(String::from_utf8_lossy(&line.bytes).chars().take(300).collect::<String>());
                }
                answer_ends || refused.is_some()
            }
            _ => false,
        })
        .await?;
    if let Some(refused) = refused {
        return Err(AttackError::finding(format!("the prompt {id} was rejected: {refused}")));
    }
    if !answered {
        agent.read_until(&format!("the answer to {id}"), |_, line| line.answers(id)).await?;
    }
    wait_until_idle(agent, id).await?;
    Ok(events)
}

/// Waits until the agent is idle, if the dialect has a state request.
pub(super) async fn wait_until_idle(agent: &mut AgentUnderTest, id: &str) -> Result<(), AttackError> {
    let Some(barrier) = agent.codec.spec.run_end.barrier else {
        return agent.check_responsive(&format!("{id}-settled")).await;
    };
    let begun = std::time::Instant::now();
    for number in 0.. {
        let question = format!("{id}-settled-{number}");
        let line = agent.codec.line(&question, barrier.command, Map::new());
        let answer: Value =
            serde_json::from_slice(&agent.request(&question, line).await?).unwrap_or_default();
        let body = answer.get("data").or(answer.get("result")).unwrap_or(&Value::Null);
        if body[barrier.busy] != Value::Bool(true) {
            break;
        }
        if begun.elapsed() > LONG {
            return Err(AttackError::finding(format!("{id}: `{}` stays true", barrier.busy)));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    tokio::time::sleep(agent.codec.spec.run_end.gap).await;
    Ok(())
}
