//! Output files of reports.

use std::path::PathBuf;

use agentese_conformance::report::{Report, html::html, junit::junit, summary};
use anyhow::Context as _;
use clap::Args;

/// The files that a report is written to.
#[derive(Debug, Args)]
pub(super) struct Outputs {
    /// Write the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the report as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the report as one HTML page with the frames of each case.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print a one-line summary, and write it as JSON, for a README or a registry.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Write the transcript of each case into this folder.
    #[arg(long, value_name = "FOLDER")]
    transcripts: Option<PathBuf>,
}

impl Outputs {
    /// Opens all output files before the first case, so that a misspelt folder fails before the run. Existing
    /// files keep their content until the run is over.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for path in [&self.json, &self.junit, &self.html, &self.summary].into_iter().flatten() {
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
            opened.with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(folder) = &self.transcripts {
            let made = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
            made.with_context(|| format!("cannot write to {}", folder.display()))?;
        }
        Ok(())
    }

    /// Writes all reports, and prints the summary if requested.
    pub(super) fn write(&self, report: &Report) -> anyhow::Result<()> {
        if self.summary.is_some() {
            super::print(&format!("{}\n", summary::line(&summary::summary(&report.data))))?;
        }
        let write = |path: &Option<PathBuf>, text: &dyn Fn() -> String| match path {
            None => Ok(()),
            Some(path) => {
                std::fs::write(path, text()).with_context(|| format!("cannot write {}", path.display()))
            }
        };
        write(&self.json, &|| report.json())?;
        write(&self.junit, &|| junit(&report.data).unwrap_or_default())?;
        write(&self.html, &|| html(report))?;
        write(&self.summary, &|| {
            let summary = summary::summary(&report.data);
            serde_json::to_string_pretty(&summary).unwrap_or_default() + "\n"
        })?;
        let Some(folder) = &self.transcripts else { return Ok(()) };
        for (case, recording) in report.data.cases.iter().zip(&report.recordings) {
            if let Some(recording) = recording {
                let path = folder.join(format!("{}.jsonl", case.name));
                recording.write(&path).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        Ok(())
    }
}
