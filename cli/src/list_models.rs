//! Option `agentese --list-models`.

use std::process::ExitCode;

use agentese::types::Model;

use super::error::CliError;
use super::table::table;
use agentese_process::output;
use agentese_process::stderr::Stderr;

/// Prints all models, or only models whose name contains the text.
pub(super) fn print<'a>(
    models: impl Iterator<Item = &'a Model>,
    search: Option<&str>,
    stderr: &Stderr,
) -> Result<ExitCode, CliError> {
    let models: Vec<_> = models.filter(|model| search.is_none_or(|text| is_found(model, text))).collect();
    if models.is_empty() {
        match search {
            Some(text) => stderr.write_line(format_args!("No model name contains \"{text}\".")),
            None => {
                stderr.write_line("No provider has a key. Set one in the environment, such as ANTHROPIC_API_KEY, or in auth.json.")
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    Ok(output::print(&text(&models))?)
}

/// Returns `true` if the names of a model contain every word of the search.
fn is_found(model: &Model, search: &str) -> bool {
    let names = format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase();
    search.to_lowercase().split_whitespace().all(|word| names.contains(word))
}

fn text(models: &[&Model]) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |model: &&Model| {
        let images = model.input.iter().any(|kind| kind.as_str() == "image");
        [
            model.provider.clone(),
            model.id.clone(),
            tokens(model.context_window),
            tokens(model.max_tokens),
            yes(model.reasoning),
            yes(images),
        ]
    };
    let rows: Vec<_> = models.iter().map(row).collect();
    table(["provider", "model", "context", "output", "thinking", "images"], &rows)
}

/// Formats a number of tokens.
fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}K", count / 1_000),
        _ if count % 1_000_000 < 100_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentese_server::providers::Provider;
    use agentese_server::providers::scripted::ScriptedProvider;

    #[test]
    fn models_are_found_by_parts_of_names_and_shown_in_columns() {
        let mut model = ScriptedProvider::built_in().models()[0].clone();
        model.provider = "acme".to_owned();
        model.id = "a\u{1b}[2J".to_owned();
        model.name = "Road Runner".to_owned();
        model.context_window = 1_048_576;
        model.max_tokens = 8_192;
        assert!(is_found(&model, "run ACME") && is_found(&model, "") && !is_found(&model, "coyote"));
        let shown = text(&[&model]);
        assert!(shown.starts_with("provider  model"), "{shown}");
        assert!(shown.contains("acme      a\\u{1b}[2J  1M       8K      yes"), "{shown}");
        assert_eq!(["999", "200K", "1.5M"], [999, 200_000, 1_500_000].map(tokens));
    }
}
