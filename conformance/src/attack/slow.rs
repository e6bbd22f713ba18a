//! A long message without a reader.

use std::time::Duration;

use serde_json::json;

use super::victim::{LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "slow-reader",
    says: "a long answer that nobody reads, then an abort: memory is bounded, the abort works",
    carry_out: |round| Box::pin(attack(round)),
};

/// Number of pieces of the message: 32 MiB in total, far more than pipes and queues contain.
const PIECES: usize = 8192;
const PIECE: usize = 4096;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let (mut rounds, mut memory) = (0, 0);
    while rounds == 0 || round.goes_on() {
        let chunk = "x".repeat(PIECE);
        let long = json!({"blocks": [{"text_repeat": {"chunk": chunk, "n": PIECES}}]});
        let site = Site::new(&round.field, json!({"responses": [long], "default": {"text": "OK."}})).await?;
        let mut victim = site.start().await?;
        let prompt = victim.speech.prompt("long", "go");
        victim.send(prompt);
        victim
            .until("the beginning of the answer", |_, heard| {
                matches!(&heard.said, super::speech::Said::Event(_))
            })
            .await?;
        // The client reads nothing for a random time.
        tokio::time::sleep(Duration::from_millis(round.rng.u64(200..2000))).await;
        victim.memory_is_bounded(&round.field)?;
        let stop = victim.speech.stop("stop");
        victim.send(stop);
        victim.until("the answer to the abort", |_, heard| heard.answers("stop")).await?;
        super::abort::settled(&mut victim, "after the abort").await?;
        super::abort::run(&mut victim, "again").await?;
        memory = victim.memory_is_bounded(&round.field)?.max(memory);
        victim.finish(LONG).await?;
        site.nothing_is_left().await?;
        rounds += 1;
    }
    Ok(vec![("unread answers", rounds), ("MiB of memory at most", memory)])
}
