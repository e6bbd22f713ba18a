//! Many agents at once.

use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use super::victim::{LONG, Site};
use super::{Attack, Counts, Round, Trouble};

/// The attack.
pub(super) const ATTACK: Attack = Attack {
    name: "starts",
    says: "many agents at once: each answers, ends with its stdin and leaves nothing",
    carry_out: |round| Box::pin(attack(round)),
};

/// The agents together may use this fraction of the free memory: one part in that many.
const PART: u64 = 3;

async fn attack(round: &mut Round) -> Result<Counts, Trouble> {
    let site = Arc::new(Site::new(&round.field, json!({"responses": [], "default": {"text": "OK."}})).await?);
    // The first agent shows the memory of one agent: too little memory on a machine is not a defect of the
    // agent.
    let first = site.start().await?;
    let each = first.memory().unwrap_or(64).max(1);
    first.finish(LONG).await?;
    let room =
        free().map_or(round.starts, |free| usize::try_from(free / PART / each).unwrap_or(round.starts));
    let count = round.starts.min(room.max(2));
    let mut all = JoinSet::new();
    for _ in 0..count {
        let site = site.clone();
        all.spawn(async move {
            let mut victim = site.start().await?;
            victim.is_well("second").await?;
            let (exit, stderr) = victim.finish(LONG).await?;
            if exit.success() {
                return Ok(());
            }
            let last = stderr.trim().lines().last().unwrap_or_default().to_owned();
            Err(Trouble::found(format!("one ended with {exit}: {last}")))
        });
    }
    while let Some(ended) = all.join_next().await {
        ended.map_err(|error| Trouble::Ground(error.to_string()))??;
    }
    site.nothing_is_left().await?;
    Ok(vec![("agents at once", count as u64), ("MiB of memory each", each)])
}

/// Returns the free memory in MiB, or `None` if the system does not report it.
fn free() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib >> 10)
}
