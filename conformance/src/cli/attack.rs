//! `attack`: tests an agent under failure.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agentese::types::Profile;
use agentese_conformance::Suite;
use agentese_conformance::attack::{Attack as Kind, AttackOptions, Surfaces, attack, exit_code, json};
use agentese_conformance::run::profile_for;
use agentese_conformance::suggestions::suggest;
use anyhow::{Context as _, bail, ensure};
use clap::Args;

/// Test an agent under hostile conditions: broken input, floods, kills, aborts at any moment.
///
/// Each attack starts its own agents, with a new home and work directory and a scripted model on loopback.
/// The environment contains only the variables of the profile. The seed determines all random choices.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes:
  0  the agent passed; attacks that this machine cannot run are reported as skipped
  1  an attack found a failure
  2  an attack could not run: the command line is invalid, or the agent does not start

See docs/attack.md for each attack and its requirements.")]
pub(super) struct Attack {
    /// Dialect of the agent, such as `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["profile", "list"])]
    dialect: Option<String>,
    /// Start the agent with this profile: a name from `list --profiles`, or a file that ends in .json. Default:
    /// the profile for this program and dialect, else the profile of the dialect.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Random seed; the same seed repeats the same attacks. Default: random; printed at start.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Approximate time limit for all attacks together, in seconds.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Memory limit of the agent, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    memory: u64,
    /// Start at most this number of agents at once.
    #[arg(long, value_name = "N", default_value_t = 200)]
    starts: usize,
    /// For `web`: command line of the server, which prints its address. Spaces separate the arguments. {agent},
    /// {program} and {dialect} are placeholders for parts of the agent's command, {rights} for the rights of the page.
    #[arg(long, value_name = "LINE")]
    web: Option<String>,
    /// For `bridge`: command line of the bridge, with {front} for the dialect of the client.
    #[arg(long, value_name = "LINE")]
    bridge: Option<String>,
    /// For `acp`: command line of the agent in an editor, with {script} for the file with the script of the model.
    #[arg(long, value_name = "LINE")]
    acp: Option<String>,
    /// For `mcp`: file that names MCP servers, with a path as in a case: agent/mcp.json or work/.mcp.json.
    #[arg(long, value_name = "FILE")]
    mcp: Option<String>,
    /// For `subagents`: arguments that give the agent the tool `task`.
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    subagents: Option<String>,
    /// Run only these attacks; --list prints the names.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// List the attacks and exit.
    #[arg(long)]
    list: bool,
    /// Command of the agent; default: the command of the profile.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Attack {
    fn surfaces(&self, profile: &Profile) -> Surfaces {
        let known = Surfaces::of(profile);
        let given = |given: &Option<String>, known| given.clone().or(known);
        Surfaces {
            web: given(&self.web, known.web),
            bridge: given(&self.bridge, known.bridge),
            acp: given(&self.acp, known.acp),
            mcp: given(&self.mcp, known.mcp),
            subagents: given(&self.subagents, known.subagents),
        }
    }

    pub(super) async fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        if self.list {
            let all =
                Kind::ALL.iter().map(|attack| format!("{:12} {}\n", attack.name(), attack.description()));
            super::print(&all.collect::<String>())?;
            return Ok(ExitCode::SUCCESS);
        }
        let profile = match (&self.profile, &self.dialect) {
            (Some(name), _) => suite.profile(name)?,
            (None, Some(dialect)) => {
                agentese::dynamic::spec(dialect)?;
                profile_for(suite, dialect, &self.command)?
            }
            (None, None) => bail!("pass --dialect or --profile"),
        };
        if let Some(dialect) = &self.dialect {
            let wanted = agentese::dynamic::spec(dialect)?.id();
            ensure!(
                wanted == profile.dialect,
                "the dialect of the profile is {}, not {wanted}",
                profile.dialect
            );
        }
        let plan = AttackOptions {
            seed: self.seed.unwrap_or_else(|| fastrand::u64(..1_000_000_000)),
            time: Duration::from_secs(self.seconds),
            memory: self.memory,
            starts: self.starts,
            command: (!self.command.is_empty()).then(|| self.command.clone()),
            surfaces: self.surfaces(&profile),
            attacks: selected_attacks(&self.only)?,
        };
        let (dialect, seed) = (&profile.dialect, plan.seed);
        super::print(&format!("attacks on {} in {dialect}; repeat with --seed {seed}\n", profile.agent))?;
        let all = attack(&profile, &plan, |carried| {
            // A closed pipe does not end the attacks, because the exit code is still needed.
            let _ = super::print(&carried.text());
        })
        .await;
        if let Some(path) = &self.json {
            let text = format!("{:#}\n", json(&profile, &plan, &all));
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(ExitCode::from(exit_code(&all)))
    }
}

fn selected_attacks(only: &[String]) -> anyhow::Result<Vec<Kind>> {
    let known: Vec<String> = Kind::ALL.iter().map(|attack| attack.name().to_owned()).collect();
    for name in only {
        ensure!(known.contains(name), "unknown attack `{name}`; {}", suggest(name, &known, ""));
    }
    let wanted = |attack: &Kind| only.is_empty() || only.iter().any(|name| name == attack.name());
    Ok(Kind::ALL.iter().filter(|attack| wanted(attack)).copied().collect())
}
