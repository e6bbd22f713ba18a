//! Prompts and instructions of subagents.

use agentese::types::VerificationAttemptResult;

use super::agent::AgentDefinition;
use super::arguments::{Arguments, TaskItem};
use super::submit::NAME;

/// Maximum number of reminders for a subagent that stops without a result.
pub const MAX_REMINDERS: usize = 3;

/// The decoration on both sides of a heading.
const RULE: &str = "═══════════";

fn heading(title: &str) -> String {
    format!("{RULE}{title}{RULE}")
}

/// Returns the first prompt of a subagent. The results for clients contain the same text.
pub fn first_prompt(arguments: &Arguments, item: &TaskItem) -> String {
    let mut text = String::new();
    if let Some(context) = &arguments.context {
        text = format!("{}\n\n<context>\n{}\n</context>\n\n", heading("Background"), context.trim());
    }
    let begin = "Your assignment is below. Your work begins now.";
    text + &format!("{}\n\n{begin}\n<goal>\n{}\n</goal>", heading("Task"), item.assignment.trim())
}

/// Returns the system instructions of a subagent.
pub fn instructions(definition: &AgentDefinition, isolated: bool) -> String {
    let isolation = match isolated {
        true => {
            "\n\nYou work in a copy of the repository. Your changes are taken from it when you are done; what you do \
             outside of it is not."
        }
        false => "",
    };
    format!(
        "{}{isolation}\n\n# Your result\n\nNobody reads what you write on the way. When the work is done, and only then, call \
         `{NAME}` once, with the result in `result.data`. Where it cannot be done, call it with the reason in \
         `result.error`. Nothing comes after that call.",
        definition.instructions.trim()
    )
}

/// Returns the reminder for a subagent that stopped without submitting a result.
pub fn reminder_prompt(number: usize) -> String {
    format!(
        "You have stopped without handing in a result (reminder {number} of {MAX_REMINDERS}). Call `{NAME}` now: \
         `result.data` with what came of your work, or `result.error` with the reason why nothing did."
    )
}

/// Returns the prompt for a repair, after the verification of a subagent's work has failed. `first` is its first
/// prompt.
pub fn repair_prompt(first: &str, attempt: &VerificationAttemptResult, lines: usize) -> String {
    let mut text = format!(
        "Your previous attempt is done, but its verification failed. All of its changes are still in the working \
         directory. Find out why these commands fail, mend it, and hand in the result again. Never weaken a check so \
         that it passes.\n\n{}\n\n{first}\n\n{}",
        heading("The assignment"),
        heading("What failed"),
    );
    let failed = attempt.command_results.iter();
    for command in failed.filter(|command| command.exit_code != 0 && command.optional != Some(true)) {
        let outcome = match command.timed_out {
            Some(true) => "ran out of time".to_owned(),
            _ => format!("ended with code {}", command.exit_code),
        };
        text.push_str(&format!("\n\n{} ({outcome}):\n\n    {}", command.name, command.command));
        if let Some(shown) = &command.output_preview {
            let all: Vec<&str> = shown.lines().collect();
            let shown = all[all.len().saturating_sub(lines)..].join("\n");
            text.push_str(&format!("\n\n```\n{shown}\n```"));
        }
    }
    text
}
