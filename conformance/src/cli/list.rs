//! `list`: lists cases and profiles.

use std::process::ExitCode;

use agentese::types::CheckLevel;
use agentese_conformance::Suite;
use clap::Args;
use serde_json::json;

/// List the cases, or the profiles of known agents.
#[derive(Debug, Args)]
pub(super) struct List {
    /// List only cases of this dialect, such as `pi` or `pi@0.55`.
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// List only cases that test this part of the dialect, such as `command prompt`, `event agent_end` or
    /// `edge unknown_command`.
    #[arg(long, value_name = "WHAT")]
    covering: Option<String>,
    /// Add the commands, events and other parts of the dialect that each case tests.
    #[arg(long)]
    covers: bool,
    /// List the profiles, which describe how to start known agents.
    #[arg(long)]
    profiles: bool,
    /// Print one line of JSON for each case or profile.
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) fn run(self, suite: &Suite) -> anyhow::Result<ExitCode> {
        let lines = if self.profiles { self.profiles(suite)? } else { self.cases(suite)? };
        super::print(&lines.concat())?;
        Ok(ExitCode::SUCCESS)
    }

    fn profiles(&self, suite: &Suite) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        for name in suite.profiles() {
            let profile = suite.profile(&name)?;
            let command = profile.command.unwrap_or_default().join(" ");
            lines.push(if self.json {
                let line = json!({"name": name, "dialect": profile.dialect, "agent": profile.agent, "command": command});
                format!("{line}\n")
            } else {
                format!("{name:<20} {:<14} {:<10} {command}\n", profile.dialect, profile.agent)
            });
        }
        Ok(lines)
    }

    fn cases(&self, suite: &Suite) -> anyhow::Result<Vec<String>> {
        let all = || suite.dialects().into_iter().chain(suite.protocols()).collect();
        let dialects = self.dialect.clone().map_or_else(all, |dialect| vec![dialect]);
        let mut lines = Vec::new();
        for dialect in dialects {
            for case in suite.cases(&dialect)? {
                let covers = case.covers.clone().unwrap_or_default();
                if self.covering.as_ref().is_some_and(|wanted| !covers.contains(wanted)) {
                    continue;
                }
                let level = case.level.unwrap_or(CheckLevel::Should);
                if self.json {
                    let line = json!({
                        "dialect": case.dialect, "name": case.name, "level": level, "title": case.title,
                        "covers": covers, "needs": case.needs.clone().unwrap_or_default(),
                        "section": case.section,
                    });
                    lines.push(format!("{line}\n"));
                    continue;
                }
                let level = level.to_string();
                lines.push(format!("{:<14} {:<34} {level:<7} {}\n", case.dialect, case.name, case.title));
                if let Some(section) = case.section.filter(|_| self.covers) {
                    lines.push(format!("{:14} {section}\n", ""));
                }
                if self.covers {
                    lines.push(format!("{:14} {}\n", "", covers.join(", ")));
                }
            }
        }
        Ok(lines)
    }
}
