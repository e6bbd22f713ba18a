//! Questions with big answers, written without reading.

use std::time::Duration;

use serde_json::json;

use super::victim::{LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "pipeline",
    says: "questions with big answers, written without reading: memory is bounded",
    carry_out: |round| Box::pin(attack(round)),
};

/// The text of the one big message, in bytes.
const TEXT: usize = 2 << 20;
/// How many questions are written: two megabytes to answer each of them.
const QUESTIONS: u64 = 400;
/// How long nobody reads. Longer than it takes to answer some; what is asked is how much it takes meanwhile.
const UNREAD: Duration = Duration::from_millis(1500);

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let text = "0123456789abcdef".repeat(TEXT / 16);
    let site = Site::new(&round.field, json!({"responses": [], "default": {"text": text}})).await?;
    let mut victim = site.start().await?;
    super::abort::run(&mut victim, "big").await?;
    let mut count = 0;
    while count == 0 || round.goes_on() {
        let ids: Vec<String> = (count..count + QUESTIONS).map(|number| format!("q{number}")).collect();
        for id in &ids {
            let Some(question) = victim.speech.history(id) else {
                return Err(Trouble::NotHere("the dialect has no question for the whole history".to_owned()));
            };
            victim.send(question);
        }
        tokio::time::sleep(UNREAD).await;
        victim.memory_is_bounded(&round.field)?;
        // All of them are answered, in time for each; those that are refused are answered, too.
        while ids.iter().any(|id| !victim.answers.contains_key(id)) {
            if victim.next("the answers to what was written", LONG).await?.is_none() {
                return Err(Trouble::found("it ended while its answers were read"));
            }
        }
        victim.each_is_answered_once(ids.into_iter().map(|id| (id, false)))?;
        count += QUESTIONS;
    }
    let memory = victim.memory_is_bounded(&round.field)?;
    victim.is_well("last").await?;
    victim.finish(LONG).await?;
    site.nothing_is_left().await?;
    Ok(vec![("questions", count), ("MiB of memory at most", memory)])
}
