//! Option `agentese --list-models`.

use std::process::ExitCode;

use std::collections::BTreeMap;

use agentese::types::Model;
use agentese_server::providers::{Catalog, ModelUnavailableError};

use super::error::CliError;
use super::table::table;
use agentese_process::output;
use agentese_process::stderr::Stderr;

/// Prints all models, or those whose name contains the text. Models that can be used come first. Reports the missing
/// key of each provider on stderr.
pub(super) fn print(catalog: &Catalog, search: Option<&str>, stderr: &Stderr) -> Result<ExitCode, CliError> {
    let models = catalog.models().filter(|model| search.is_none_or(|text| is_found(model, text)));
    let mut models: Vec<_> = models.map(|model| (model, catalog.ready(model).err())).collect();
    if models.is_empty() {
        match search {
            Some(text) => stderr.write_line(format_args!("No model name contains \"{text}\".")),
            None => stderr.write_line("No models are configured."),
        }
        return Ok(ExitCode::SUCCESS);
    }
    models.sort_by_key(|(_, error)| error.is_some());
    let printed = output::print(&text(&models))?;
    let errors = models.iter().filter_map(|(model, error)| Some((&model.provider, error.as_ref()?)));
    for error in errors.collect::<BTreeMap<_, _>>().into_values() {
        stderr.write_line(error.to_string().replace("\n\n", " "));
    }
    Ok(printed)
}

/// Returns `true` if the names of a model contain every word of the search.
fn is_found(model: &Model, search: &str) -> bool {
    let names = format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase();
    search.to_lowercase().split_whitespace().all(|word| names.contains(word))
}

fn text(models: &[(&Model, Option<ModelUnavailableError>)]) -> String {
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |(model, error): &(&Model, Option<ModelUnavailableError>)| {
        let images = model.input.iter().any(|kind| kind.as_str() == "image");
        [
            model.provider.clone(),
            model.id.clone(),
            tokens(model.context_window),
            tokens(model.max_tokens),
            yes(model.reasoning),
            yes(images),
            yes(error.is_none()),
        ]
    };
    let rows: Vec<_> = models.iter().map(row).collect();
    table(["provider", "model", "context", "output", "thinking", "images", "available"], &rows)
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
        let shown = text(&[(&model, None)]);
        assert!(shown.starts_with("provider  model"), "{shown}");
        assert!(shown.contains("acme      a\\u{1b}[2J  1M       8K      yes"), "{shown}");
        assert_eq!(["999", "200K", "1.5M"], [999, 200_000, 1_500_000].map(tokens));
    }
}
