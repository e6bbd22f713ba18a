//! Attack: does not read a long message.

use std::time::Duration;

use serde_json::json;

use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "slow-reader",
    description: "a long answer that the client does not read, then an abort: memory is bounded, the abort works",
    run: |context| Box::pin(attack(context)),
};

/// Number of pieces of the message: 32 MiB in total, far more than pipes and queues contain.
const PIECES: usize = 8192;
const PIECE: usize = 4096;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let (mut rounds, mut memory) = (0, 0);
    while rounds == 0 || context.has_time() {
        let chunk = "x".repeat(PIECE);
        let long = json!({"blocks": [{"text_repeat": {"chunk": chunk, "n": PIECES}}]});
        let env =
            AttackEnv::new(&context.config, json!({"responses": [long], "default": {"text": "OK."}})).await?;
        let mut agent = env.start().await?;
        let prompt = agent.codec.prompt("long", "go");
        agent.send(prompt);
        agent
            .read_until("the beginning of the answer", |_, line| {
                matches!(&line.kind, super::codec::LineKind::Event(_))
            })
            .await?;
        // The client reads nothing for a random time.
        tokio::time::sleep(Duration::from_millis(context.rng.u64(200..2000))).await;
        agent.check_memory(&context.config)?;
        let stop = agent.codec.stop("stop");
        agent.send(stop);
        agent.read_until("the answer to the abort", |_, line| line.answers("stop")).await?;
        super::abort::wait_until_idle(&mut agent, "after the abort").await?;
        super::abort::run(&mut agent, "again").await?;
        memory = agent.check_memory(&context.config)?.max(memory);
        agent.finish(LONG).await?;
        env.check_no_processes().await?;
        rounds += 1;
    }
    Ok(vec![("unread answers", rounds), ("MiB of memory at most", memory)])
}
