//! The registry of dialect servers.

use agentese::schema::{self, Side};

use super::dialect_server::DialectEntry;
use super::{acp, omp, opal, operator, pi, pisces};

/// ACP, which is not a dialect: editors select it with an option of its own.
pub static ACP: DialectEntry = DialectEntry::first_revision::<acp::AcpServer>();

/// The revisions that the server speaks, with the oldest of each dialect first. The first entry is the default.
pub static DIALECTS: &[DialectEntry] = &[
    DialectEntry::first_revision::<pi::PiServer>(),
    DialectEntry::revision::<pi::PiServer>(1),
    DialectEntry::revision::<pi::PiServer>(2),
    DialectEntry::first_revision::<operator::OperatorServer>(),
    DialectEntry::first_revision::<omp::OmpServer>(),
    DialectEntry::revision::<omp::OmpServer>(1),
    DialectEntry::first_revision::<pisces::PiscesServer>(),
    DialectEntry::first_revision::<opal::OpalServer>(),
];

/// The placeholder for the newest revision that the server speaks, as in `NAME@latest`.
const LATEST: &str = "latest";

impl DialectEntry {
    /// Looks up `NAME` (the first revision), `NAME@REVISION` or `NAME@latest`. Fails if the dialect is not
    /// declared, or if the server does not speak it.
    pub fn find(dialect: &str) -> Result<&'static Self, DialectLookupError> {
        let requested = || dialect.to_owned();
        let (name, revision) = dialect.split_once('@').unwrap_or((dialect, ""));
        let latest = revision == LATEST;
        if schema::schema(if latest { name } else { dialect }, Side::Server).is_none() {
            return Err(DialectLookupError::Unknown {
                asked: requested(),
                declared: schema::dialects().join(", "),
            });
        }
        let mut served = DIALECTS.iter().filter(|entry| entry.spec().name == name);
        let found = match revision {
            LATEST => served.next_back(),
            "" => served.next(),
            revision => served.find(|entry| entry.spec().revision == revision),
        };
        found.ok_or_else(|| {
            let all: Vec<_> = DIALECTS.iter().map(|entry| entry.spec().id()).collect();
            DialectLookupError::NotServed { asked: requested(), served: all.join(", ") }
        })
    }
}

/// The reason why a dialect has no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DialectLookupError {
    /// The dialect is unknown.
    #[error("unknown dialect \"{asked}\"; known: {declared}")]
    Unknown {
        /// The name that the user requested.
        asked: String,
        /// Names of the declared dialects.
        declared: String,
    },
    /// The dialect is known, but this server does not speak it.
    #[error("the dialect {asked} is not available in this version; available: {served}")]
    NotServed {
        /// The name that the user requested.
        asked: String,
        /// The dialects that the server speaks.
        served: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_found_by_its_name_and_by_its_revision() {
        for entry in DIALECTS {
            let spec = entry.spec();
            assert_eq!(DialectEntry::find(&spec.id()).unwrap().spec().id(), spec.id());
        }
        let found = |name: &str| DialectEntry::find(name).unwrap().spec().id();
        assert_eq!([found("pi"), found("omp")], ["pi@0.55", "omp@12.7"]);
        assert_eq!([found("pi@latest"), found("omp@latest")], ["pi@1.6", "omp@13.19"]);
        let unknown = DialectEntry::find("klingon").unwrap_err().to_string();
        assert!(unknown.starts_with("unknown dialect \"klingon\"; known: pi@"), "{unknown}");
        assert!(matches!(DialectEntry::find("pi@0.1"), Err(DialectLookupError::Unknown { .. })));
        for declared in schema::dialects() {
            let served = DIALECTS.iter().any(|entry| entry.spec().id() == declared);
            assert_eq!(DialectEntry::find(&declared).is_ok(), served, "{declared}");
        }
    }
}
