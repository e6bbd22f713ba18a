//! Option `agentese --export`.

use std::path::Path;
use std::process::ExitCode;

use super::error::CliError;
use agentese_process::output;
use agentese_process::stderr::Stderr;
use agentese_server::engine::ExportPolicy;
use agentese_server::export::{ExportInput, default_name, from_file, write};
use agentese_server::providers::{Catalog, ExposeSecret};

/// Writes a session file as one HTML page, and prints the path of the page. Keys of the catalogue do not appear
/// on the page. Fails if the file is not a session, or if the page cannot be written.
pub(super) fn write_page(
    cwd: &Path,
    session: &Path,
    page: Option<&Path>,
    catalog: &Catalog,
    stderr: &Stderr,
) -> Result<ExitCode, CliError> {
    let file = from_file(&cwd.join(session))?;
    let page =
        page.map_or_else(|| default_name(ExportPolicy::default().name_prefix, session), Path::to_owned);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|source| CliError::Io { context: "cannot start the runtime".to_owned(), source })?;
    let (secrets, unknown) = runtime.block_on(catalog.secrets());
    for reason in unknown {
        stderr.warn(format_args!("cannot read a key, so the page may contain it: {reason}"));
    }
    let secrets: Vec<String> = secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect();
    let transcript = ExportInput { secrets: &secrets, ..ExportInput::new(&file.header, &file.entries) };
    write(&transcript, &cwd.join(&page))?;
    Ok(output::print(&format!("{}\n", page.display()))?)
}
