//! Attack: fills the disk of the agent's home directory.

use std::process::Stdio;

use serde_json::json;

use super::agent::{AttackEnv, LONG};
use super::{Attack, AttackContext, AttackError, Counts};

/// The declaration of this attack: its name, its description and its function.
pub(super) const ATTACK: Attack = Attack {
    name: "full-disk",
    description: "a home directory on a full disk: the agent keeps running, and reports that entries are not stored",
    run: |context| Box::pin(attack(context)),
};

/// Script that moves the agent's home to a small disk and starts the agent. The disk has 16 KiB of free
/// space. Requires a system on which users may mount in their own namespace.
const SMALL_HOME: &str = r#"set -e
copy=$(mktemp -d)
cp -a "$HOME/." "$copy"
mount -t tmpfs -o size=1m none "$HOME"
cp -a "$copy/." "$HOME"
rm -r "$copy"
dd if=/dev/zero of="$HOME/.room" bs=1k count=16 2>/dev/null
dd if=/dev/zero of="$HOME/.filled" bs=1k 2>/dev/null || true
rm "$HOME/.room"
exec "$@""#;
/// Number of prompts. Their answers need more space than the disk has.
const PROMPTS: u64 = 12;

async fn attack(context: &mut AttackContext) -> Result<Counts, AttackError> {
    let wrapper = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"].map(str::to_owned);
    let text = "0123456789abcdef".repeat(256);
    let env = AttackEnv::new(&context.config, json!({"responses": [], "default": {"text": text}})).await?;
    if env.home().is_none() {
        return Err(AttackError::NotApplicable("the profile does not set HOME".to_owned()));
    }
    // An agent that does not start on this disk is not a finding, so it is started without one first.
    env.start().await?.finish(LONG).await?;
    if !may_mount(&wrapper).await {
        return Err(AttackError::NotApplicable("this user has no permission to mount a disk".to_owned()));
    }
    let mut agent =
        env.start_wrapped(&[&wrapper[..], &[SMALL_HOME.to_owned(), "sh".to_owned()]].concat()).await?;
    for number in 0..PROMPTS {
        super::abort::run(&mut agent, &format!("p{number}")).await?;
    }
    agent.check_responsive("last").await?;
    let memory = agent.check_memory(&context.config)?;
    let (exit, stderr) = agent.finish(LONG).await?;
    // The frames about the failure depend on the dialect. The user must see at least a message on stderr or
    // an exit code.
    if exit.success() && stderr.trim().is_empty() {
        return Err(AttackError::finding("full disk not reported: stderr is empty, and the exit code is 0"));
    }
    env.check_no_processes().await?;
    Ok(vec![("prompts", PROMPTS), ("MiB of memory at most", memory)])
}

async fn may_mount(wrapper: &[String]) -> bool {
    let mut command = tokio::process::Command::new(&wrapper[0]);
    let folder = std::env::temp_dir();
    command.args(&wrapper[1..]).arg(r#"mount -t tmpfs -o size=64k none "$0""#).arg(folder);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    matches!(tokio::time::timeout(LONG, status).await, Ok(Ok(status)) if status.success())
}
