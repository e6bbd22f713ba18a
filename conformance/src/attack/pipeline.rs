//! Attack: sends requests with large responses, and does not read the responses.

use std::time::Duration;

use serde_json::json;

use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "pipeline",
    description: "requests with large answers, sent without reading: memory is bounded",
    run: |context| Box::pin(attack(context)),
};

/// Length in bytes of the text in the large message.
const TEXT: usize = 2 << 20;
/// Number of requests, each with a response of two megabytes.
const QUESTIONS: u64 = 400;
/// Time for which the attack does not read, before it measures the agent's memory. The agent can write some
/// of the responses in this time.
const UNREAD: Duration = Duration::from_millis(1500);

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let text = "0123456789abcdef".repeat(TEXT / 16);
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": text}})).await?;
    let mut agent = env.start().await?;
    super::abort::run(&mut agent, "big").await?;
    let mut count = 0;
    while count == 0 || context.has_time() {
        let ids: Vec<String> = (count..count + QUESTIONS).map(|number| format!("q{number}")).collect();
        for id in &ids {
            let Some(question) = agent.codec.history(id) else {
                return Err(AttackError::NotApplicable(
                    "the dialect has no request for the whole history".to_owned(),
                ));
            };
            agent.send(question);
        }
        tokio::time::sleep(UNREAD).await;
        agent.check_memory(&context.config)?;
        // Every request gets a response in time, including rejected requests.
        while ids.iter().any(|id| !agent.answers.contains_key(id)) {
            if agent.next("the answers to all requests", LONG).await?.is_none() {
                return Err(AttackError::finding("the agent ended before all answers"));
            }
        }
        agent.check_answered_once(ids.into_iter().map(|id| (id, false)))?;
        count += QUESTIONS;
    }
    let memory = agent.check_memory(&context.config)?;
    agent.check_responsive("last").await?;
    agent.finish(LONG).await?;
    env.check_no_processes().await?;
    Ok(vec![("questions", count), ("MiB of memory at most", memory)])
}
