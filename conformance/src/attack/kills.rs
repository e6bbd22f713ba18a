//! SIGKILL at any moment of a run.

use std::time::Duration;

use serde_json::{Value, json};

use super::speech::{Said, Speech};
use super::victim::{Heard, LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "kills",
    says: "SIGKILL at any moment of a run: no finished message is lost, no process is left",
    carry_out: |round| Box::pin(attack(round)),
};

/// Maximum time between a prompt and the kill.
const WITHIN: Duration = Duration::from_millis(500);

/// Turns with a command that leaves a process behind for a minute, and a command that takes time.
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

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let (mut kills, mut messages) = (0, 0);
    while kills == 0 || round.goes_on() {
        let moment = Duration::from_micros(round.rng.u64(..WITHIN.as_micros() as u64));
        messages += one(round, moment).await?;
        kills += 1;
    }
    Ok(vec![("kills", kills), ("finished messages that were kept", messages)])
}

async fn one(round: &Round, moment: Duration) -> Result<u64, Trouble> {
    let speech = Speech::of(&round.field.profile.dialect);
    let shell = speech.as_ref().map_or("bash", |speech| speech.shell());
    let site = Site::new(&round.field, script(shell)).await?;
    let mut victim = site.start().await?;
    let kept = place(&mut victim).await?;
    let prompt = victim.speech.prompt("go", "go");
    victim.send(prompt);
    // The moment is random; frames are read until then.
    let mut seen = Vec::new();
    let end = tokio::time::Instant::now() + moment;
    while let Ok(heard) = tokio::time::timeout_at(end, victim.next("an event", LONG)).await {
        match heard? {
            Some(heard) => note(&victim.speech, &heard, &mut seen),
            None => return Err(Trouble::found("it ended by itself")),
        }
    }
    victim.kill();
    // Earlier output; an incomplete last line is not a frame.
    while let Ok(Some(heard)) = victim.next("what was said before the kill", LONG).await {
        note(&victim.speech, &heard, &mut seen);
    }
    drop(victim);
    site.nothing_is_left().await?;
    let Some(file) = kept else { return Ok(0) };
    if !seen.is_empty() {
        check(&site, &file, &seen).await?;
    }
    Ok(seen.len() as u64)
}

/// Returns the place of the session, or `None` if the dialect cannot report the place or open it again.
async fn place(victim: &mut super::victim::Victim) -> Result<Option<String>, Trouble> {
    let Some(question) = victim.speech.place("state") else { return Ok(None) };
    let answer = serde_json::from_slice(&victim.ask("state", question).await?).unwrap_or_default();
    Ok(victim.speech.placed(&answer))
}

fn note(speech: &Speech, heard: &Heard, seen: &mut Vec<Value>) {
    if matches!(&heard.said, Said::Event(name) if speech.finishes(name)) {
        let frame = heard.value();
        let event = frame.get("event").filter(|event| event.is_object()).unwrap_or(&frame);
        seen.push(event["message"].clone());
    }
}

/// Checks that another agent reads all observed messages in order.
async fn check(site: &Site, file: &str, seen: &[Value]) -> Result<(), Trouble> {
    let mut reader = site.start().await?;
    let Some(opening) = reader.speech.open("open-again", file) else { return Ok(()) };
    reader.ask("open-again", opening).await?;
    let Some(question) = reader.speech.history("history") else { return Ok(()) };
    let answer: Value = serde_json::from_slice(&reader.ask("history", question).await?).unwrap_or_default();
    let kept = reader.speech.messages(&answer);
    let mut rest = kept.iter();
    if let Some(lost) = seen.iter().position(|message| !rest.any(|kept| kept == message)) {
        return Err(Trouble::found(format!(
            "message {} of {} that were seen finished is lost; {} are kept in {file}",
            lost + 1,
            seen.len(),
            kept.len()
        )));
    }
    reader.finish(LONG).await?;
    site.nothing_is_left().await
}
