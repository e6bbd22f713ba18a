//! Attack: starts many agents at once.

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "starts",
    description: "many agents at once: each answers, exits at the end of stdin, and leaves no process",
    run: |context| Box::pin(attack(context)),
};

/// Divisor of the free memory. All agents together may use at most the quotient.
const MEMORY_SHARE: u64 = 3;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let env = Arc::new(
        AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": "OK."}})).await?,
    );
    // The memory of the first agent limits the number of agents. A machine with too little memory is not a
    // defect of the agent.
    let first = env.start().await?;
    let each = first.memory().unwrap_or(64).max(1);
    first.finish(LONG).await?;
    let room = free_memory()
        .map_or(context.starts, |free| usize::try_from(free / MEMORY_SHARE / each).unwrap_or(context.starts));
    let count = context.starts.min(room.max(2));
    let mut all = JoinSet::new();
    for _ in 0..count {
        let env = env.clone();
        all.spawn(async move {
            let mut agent = env.start().await?;
            agent.check_responsive("second").await?;
            let (exit, stderr) = agent.finish(LONG).await?;
            if exit.success() {
                return Ok(());
            }
            let last = stderr.trim().lines().last().unwrap_or_default().to_owned();
            Err(AttackError::finding(format!("an agent ended with {exit}: {last}")))
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.map_err(|error| AttackError::Environment(error.to_string()))??;
    }
    env.check_no_processes().await?;
    Ok(vec![("agents at once", count as u64), ("MiB of memory each", each)])
}

/// Returns the free memory in MiB, or `None` if the system does not report it.
fn free_memory() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib >> 10)
}
