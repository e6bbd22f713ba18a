//! `agentese-codegen`: writes the generated files, or checks that they are fresh.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;

/// Write all files that are generated from the protocol declaration.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Write nothing; print the differences and fail if there are any.
    #[arg(long)]
    check: bool,
    /// The root of the repository.
    #[arg(long)]
    root: Option<PathBuf>,
    /// Write nothing; print the commands, events and dialogs of that revision that no case of its dialect
    /// covers.
    #[arg(long, value_name = "NAME@REVISION")]
    uncovered: Option<String>,
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let root = match options.root {
        Some(root) => root,
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .map(PathBuf::from)
            .context("the crate's folder has no parent")?,
    };
    if let Some(revision) = options.uncovered {
        let mut out = std::io::stdout().lock();
        for what in agentese_codegen::uncovered::uncovered(&root, &revision)? {
            writeln!(out, "{what}")?;
        }
        return Ok(());
    }
    let artefacts = agentese_codegen::artefacts();
    if options.check {
        return agentese_codegen::output::check(&root, &artefacts);
    }
    agentese_codegen::output::write(&root, &artefacts)
}
