//! The cases, profiles and golden transcripts: those in the binary, or those of a folder.

mod beside;
mod claims;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use agentese::types::{ExpectedFailures, Profile, Scenario};
use include_dir::{Dir, include_dir};

use crate::file::{self, FileError};
use crate::transcript::{Transcript, TranscriptError};
use crate::words::instead;

static CASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/cases");
static PROFILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/profiles");
static TRANSCRIPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/transcripts");
static EXPECTED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/expected");
static ALTERNATIVES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/alternatives");

/// Why a part of the suite cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SuiteError {
    /// There is no such thing.
    #[error("unknown {what} `{name}`; {known}")]
    Unknown {
        /// What was asked for: a case, a profile, a dialect.
        what: &'static str,
        /// Its name.
        name: String,
        /// What there is instead, in words.
        known: String,
    },
    /// A case or a profile is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    /// A golden transcript is wrong.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}

/// Where cases (`cases/DIALECT/NAME.json`), profiles (`profiles/NAME.json`), golden transcripts
/// (`transcripts/DIALECT/NAME.jsonl`), other recordings of the same case
/// (`alternatives/DIALECT/NAME.jsonl`) and expected failures (`expected/NAME.json`) come from.
#[derive(Debug, Clone, Default)]
pub struct Suite {
    folder: Option<PathBuf>,
}

impl Suite {
    /// What is in the binary.
    pub fn embedded() -> Self {
        Self { folder: None }
    }

    /// What is in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// The dialects that have cases, in order.
    pub fn dialects(&self) -> Vec<String> {
        let mut names = match &self.folder {
            None => CASES.dirs().map(|dir| stem(dir.path())).collect(),
            Some(folder) => on_disk(&folder.join("cases"), None),
        };
        names.sort();
        names
    }

    /// The cases of a dialect, or of one of its revisions (`NAME@REVISION`), in order of their names. A name alone means the
    /// first revision.
    ///
    /// # Errors
    /// Where there is no such dialect, or a case is wrong.
    pub fn cases(&self, dialect: &str) -> Result<Vec<Scenario>, SuiteError> {
        let folder = dialect.split('@').next().unwrap_or_default();
        if !self.dialects().iter().any(|known| known == folder) {
            return Err(unknown("dialect", dialect, &self.dialects(), "`list` has all"));
        }
        let cases = self.names(&CASES, "cases", Some(folder)).into_iter();
        let cases: Vec<Scenario> = cases
            .map(|name| self.parse(&CASES, "cases", &format!("{folder}/{name}.json"), "scenario"))
            .collect::<Result<_, _>>()?;
        let first = agentese::dynamic::spec(dialect).map(|spec| spec.id());
        let wanted = first.unwrap_or_else(|_| dialect.to_owned());
        let of_revision = |case: &Scenario| case.dialect == wanted;
        Ok(cases.into_iter().filter(of_revision).collect())
    }

    /// A case: a file, or the name of one of a dialect's.
    ///
    /// # Errors
    /// Where there is no such case, or it is wrong.
    pub fn case(&self, dialect: &str, name: &str) -> Result<Scenario, SuiteError> {
        if name.ends_with(".json") {
            return Ok(file::load(Path::new(name), "scenario")?);
        }
        let folder = dialect.split('@').next().unwrap_or_default();
        let names = self.names(&CASES, "cases", Some(folder));
        if !names.iter().any(|known| known == name) {
            let all = format!("`list --dialect {folder}` has all {}", names.len());
            return Err(unknown("case", name, &names, &all));
        }
        self.parse(&CASES, "cases", &format!("{folder}/{name}.json"), "scenario")
    }

    /// The names of the profiles.
    pub fn profiles(&self) -> Vec<String> {
        self.names(&PROFILES, "profiles", None)
    }

    /// A profile: a file, or the name of one of the suite's. A program with a relative path is looked for beside
    /// the file, and `${PROFILE}` is the file's folder.
    ///
    /// # Errors
    /// Where there is no such profile, or it is wrong: its claims name a command, an event or a need that there is
    /// not, say.
    pub fn profile(&self, name: &str) -> Result<Profile, SuiteError> {
        let profile = self.read_profile(name)?;
        claims::check(self, &profile)?;
        Ok(profile)
    }

    fn read_profile(&self, name: &str) -> Result<Profile, SuiteError> {
        if name.ends_with(".json") {
            let path = Path::new(name);
            return Ok(beside::resolve(file::load(path, "profile")?, path)?);
        }
        let names = self.profiles();
        if !names.iter().any(|known| known == name) {
            return Err(unknown("profile", name, &names, "`list --profiles` has all"));
        }
        let profile = self.parse(&PROFILES, "profiles", &format!("{name}.json"), "profile")?;
        match &self.folder {
            None => Ok(profile),
            Some(folder) => {
                Ok(beside::resolve(profile, &folder.join("profiles").join(format!("{name}.json")))?)
            }
        }
    }

    /// Expected failures by the name of their file; none where there is no such file.
    ///
    /// # Errors
    /// Where the file is wrong.
    pub fn expected(&self, name: &str) -> Result<Option<ExpectedFailures>, SuiteError> {
        let path = format!("{name}.json");
        if self.text(&EXPECTED, "expected", &path)?.is_none() {
            return Ok(None);
        }
        self.parse(&EXPECTED, "expected", &path, "expected-failures").map(Some)
    }

    /// The golden transcript of a case; none where there is none.
    ///
    /// # Errors
    /// Where it is no transcript.
    pub fn golden(&self, dialect: &str, name: &str) -> Result<Option<Transcript>, SuiteError> {
        self.transcript(&TRANSCRIPTS, "transcripts", dialect, name)
    }

    /// Another recording of the case that is as good as the golden one, where the recorded agent races with
    /// itself; none where there is none.
    ///
    /// # Errors
    /// Where it is no transcript.
    pub fn alternative(&self, dialect: &str, name: &str) -> Result<Option<Transcript>, SuiteError> {
        self.transcript(&ALTERNATIVES, "alternatives", dialect, name)
    }

    fn transcript(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        dialect: &str,
        name: &str,
    ) -> Result<Option<Transcript>, SuiteError> {
        let folder = dialect.split('@').next().unwrap_or_default();
        let path = format!("{folder}/{name}.jsonl");
        let Some(text) = self.text(embedded, kind, &path)? else { return Ok(None) };
        Ok(Some(Transcript::parse(&Path::new(kind).join(path), &text)?))
    }

    fn parse<T: serde::de::DeserializeOwned>(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        path: &str,
        format: &str,
    ) -> Result<T, SuiteError> {
        let text = self.text(embedded, kind, path)?.unwrap_or_default();
        let shown = Path::new(kind).join(path);
        Ok(file::parse(&shown, &text, format)?)
    }

    fn text(
        &self,
        embedded: &Dir<'static>,
        kind: &str,
        path: &str,
    ) -> Result<Option<Cow<'static, str>>, FileError> {
        let Some(folder) = &self.folder else {
            let file = embedded.get_file(path).and_then(|file| file.contents_utf8());
            // The embedded folder lives as long as the program.
            return Ok(file.map(|text| Cow::Owned(text.to_owned())));
        };
        let path = folder.join(kind).join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Cow::Owned(text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FileError::Read { path, source }),
        }
    }

    fn names(&self, embedded: &Dir<'static>, kind: &str, within: Option<&str>) -> Vec<String> {
        let mut names: Vec<String> = match &self.folder {
            None => {
                let dir = within.map_or(Some(embedded), |name| embedded.get_dir(name));
                dir.into_iter().flat_map(|dir| dir.files()).map(|file| stem(file.path())).collect()
            }
            Some(folder) => on_disk(&folder.join(kind).join(within.unwrap_or_default()), Some("json")),
        };
        names.sort();
        names
    }
}

fn unknown(what: &'static str, name: &str, known: &[String], all: &str) -> SuiteError {
    SuiteError::Unknown { what, name: name.to_owned(), known: instead(name, known, all) }
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Names of the files with that extension, or of the folders, in a folder.
fn on_disk(folder: &Path, extension: Option<&str>) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .filter(|path| match extension {
            None => path.is_dir(),
            Some(wanted) => path.extension().is_some_and(|extension| extension == wanted),
        })
        .map(|path| stem(&path))
        .collect()
}
