//! Requests with large responses, sent without reading.

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

/// Length of the text of the large message, in bytes.
const TEXT: usize = 2 << 20;
/// Number of requests, each with a response of two megabytes.
const QUESTIONS: u64 = 400;
/// Time without reading. It suffices for some responses; the attack measures the memory meanwhile.
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
        // Every request gets a response in time, including rejected requests.
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
