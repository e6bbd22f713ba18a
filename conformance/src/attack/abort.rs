//! An abort at each event of a run.

use std::time::Duration;

use agentese::spec::{Answer, RunRole};
use serde_json::{Map, Value, json};

use super::speech::Said;
use super::victim::{LONG, Site, Victim};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "aborts",
    says: "an abort at each event of a run: answered, and the next prompt works",
    carry_out: |round| Box::pin(attack(round)),
};

/// Interval of the state requests during unfinished work.
const AGAIN: Duration = Duration::from_millis(5);
/// Maximum number of aborts in one session, because each abort is slower in a longer session.
const MOST: u64 = 60;

/// Returns the script of a run with all kinds of content: reasoning, text in pieces, a command with output, a
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

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let shell =
        super::speech::Speech::of(&round.field.profile.dialect).map_or("bash", |speech| speech.shell());
    let mut aborts = 0;
    let mut events = 0;
    while aborts == 0 || round.goes_on() {
        let site = Site::new(&round.field, script(shell)).await?;
        let mut victim = site.start().await?;
        events = run(&mut victim, "whole").await?;
        for number in 0..MOST {
            // Each position in turn, then random positions.
            let at = if number < events { number } else { round.rng.u64(..events) };
            one(&mut victim, &format!("a{number}"), at).await?;
            aborts += 1;
            if number >= 3 && !round.goes_on() {
                break;
            }
        }
        victim.memory_is_bounded(&round.field)?;
        victim.finish(LONG).await?;
        site.nothing_is_left().await?;
    }
    Ok(vec![("aborts", aborts), ("events of a run", events)])
}

/// Sends a prompt, an abort after `at` events, and another prompt that must succeed.
async fn one(victim: &mut Victim, id: &str, at: u64) -> Result<(), Trouble> {
    let prompt = victim.speech.prompt(id, "go");
    victim.send(prompt);
    let mut events = 0;
    if at > 0 {
        let what = format!("event {at} of a run");
        victim
            .until(&what, |speech, heard| {
                let Said::Event(name) = &heard.said else { return false };
                events += 1;
                events >= at || speech.may_end(name)
            })
            .await?;
    }
    let stop_id = format!("{id}-stop");
    let stop = victim.speech.stop(&stop_id);
    victim.ask(&stop_id, stop).await?;
    settled(victim, id).await?;
    let may_fail_later = acknowledges(victim);
    victim.each_is_answered_once([(id.to_owned(), may_fail_later), (stop_id, false)].into_iter())?;
    run(victim, &format!("{id}-next")).await.map(drop)
}

fn acknowledges(victim: &Victim) -> bool {
    let mut all = victim.speech.spec.commands.iter();
    all.any(|command| command.run == RunRole::Starts && command.answer == Answer::Acknowledged)
}

/// Sends a prompt and waits for the end of its run; returns the number of its events.
pub(super) async fn run(victim: &mut Victim, id: &str) -> Result<u64, Trouble> {
    let prompt = victim.speech.prompt(id, "go");
    victim.send(prompt);
    let (mut events, mut answered) = (0, false);
    let answer_ends = victim.speech.spec.run_end.answer_ends;
    let what = format!("the end of {id}");
    let mut refused = None;
    victim
        .until(&what, |speech, heard| match &heard.said {
            Said::Event(name) => {
                events += 1;
                !answer_ends && speech.may_end(name)
            }
            Said::Answer(own, success) if own.as_deref() == Some(id) => {
                answered = true;
                if !success {
                    refused =
                        Some(String::from_utf8_lossy(&heard.bytes).chars().take(300).collect::<String>());
                }
                answer_ends || refused.is_some()
            }
            _ => false,
        })
        .await?;
    if let Some(refused) = refused {
        return Err(Trouble::found(format!("the prompt {id} was refused: {refused}")));
    }
    if !answered {
        victim.until(&format!("the answer to {id}"), |_, heard| heard.answers(id)).await?;
    }
    settled(victim, id).await?;
    Ok(events)
}

/// Waits until the agent is idle, if the dialect has a state request.
pub(super) async fn settled(victim: &mut Victim, id: &str) -> Result<(), Trouble> {
    let Some(barrier) = victim.speech.spec.run_end.barrier else {
        return victim.is_well(&format!("{id}-settled")).await;
    };
    let begun = std::time::Instant::now();
    for number in 0.. {
        let question = format!("{id}-settled-{number}");
        let line = victim.speech.line(&question, barrier.command, Map::new());
        let answer: Value = serde_json::from_slice(&victim.ask(&question, line).await?).unwrap_or_default();
        let body = answer.get("data").or(answer.get("result")).unwrap_or(&Value::Null);
        if body[barrier.busy] != Value::Bool(true) {
            break;
        }
        if begun.elapsed() > LONG {
            return Err(Trouble::found(format!("{id}: {} stays true", barrier.busy)));
        }
        tokio::time::sleep(AGAIN).await;
    }
    tokio::time::sleep(victim.speech.spec.run_end.gap).await;
    Ok(())
}
