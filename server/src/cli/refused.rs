//! Options that the pi document or its agent has and this version has not. Each is refused by name:
//! an option that is silently ignored is worse than none.

use clap::Args;

/// What was asked for and is not there yet.
#[derive(Debug, Default, Args)]
pub(super) struct Refused {
    #[arg(long, hide = true, value_name = "DIRECTORY")]
    session_dir: Option<String>,
    #[arg(long, hide = true, value_name = "SESSION")]
    session: Option<String>,
    #[arg(long = "continue", short = 'c', hide = true)]
    continues: bool,
    #[arg(long, short = 'r', hide = true)]
    resume: bool,
    #[arg(long, short = 'e', hide = true, value_name = "PATH")]
    extension: Vec<String>,
    #[arg(long, hide = true, value_name = "PATH")]
    skill: Vec<String>,
    #[arg(long, hide = true, value_name = "PATH")]
    prompt_template: Vec<String>,
    #[arg(long, hide = true, value_name = "KEY")]
    api_key: Option<String>,
    #[arg(long, hide = true, num_args = 1..=2, value_name = "FILE")]
    export: Vec<String>,
    #[arg(long, hide = true, num_args = 0..=1, value_name = "SEARCH")]
    list_models: Option<Option<String>>,
    #[arg(long, short = 'p', hide = true)]
    print: bool,
}

impl Refused {
    /// The first one that was asked for, and why it is refused.
    pub fn reason(&self, no_session: bool) -> Option<String> {
        const IN_MEMORY: &str = "sessions are kept in memory only";
        let asked = [
            (self.session_dir.is_some() && !no_session, "--session-dir", IN_MEMORY),
            (self.session.is_some(), "--session", IN_MEMORY),
            (self.continues, "--continue", IN_MEMORY),
            (self.resume, "--resume", IN_MEMORY),
            (!self.extension.is_empty(), "--extension", "there are no extensions"),
            (!self.skill.is_empty(), "--skill", "there are no skills"),
            (!self.prompt_template.is_empty(), "--prompt-template", "there are no prompt templates"),
            (self.api_key.is_some(), "--api-key", "the embedded model needs no key, and there is no other"),
            (!self.export.is_empty(), "--export", "there is no export"),
            (self.list_models.is_some(), "--list-models", "get_available_models lists them in RPC mode"),
            (self.print, "--print", "rpc is the one mode there is"),
        ];
        let (_, option, reason) = asked.into_iter().find(|(asked, ..)| *asked)?;
        Some(format!("{option} is not available in this version: {reason}"))
    }
}
