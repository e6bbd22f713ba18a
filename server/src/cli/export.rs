//! `agentese --export`.

use std::path::Path;
use std::process::ExitCode;

use super::{Failure, output};
use crate::export::{Transcript, default_name, from_file, write};

/// Writes a session file as one HTML page and prints the page's path. Fails where it is no session
/// file, and where the page cannot be written.
pub(super) fn write_page(cwd: &Path, session: &Path, page: Option<&Path>) -> Result<ExitCode, Failure> {
    let failed = |error: crate::export::ExportError| Failure::Usage(error.to_string());
    let file = from_file(&cwd.join(session)).map_err(failed)?;
    let page = page.map_or_else(|| default_name(session), Path::to_owned);
    write(&Transcript::new(&file.header, &file.entries), &cwd.join(&page)).map_err(failed)?;
    output::print(format!("{}\n", page.display()).as_bytes())
}
