//! The first line of a session file.

use super::members::{LineWriter, Members};

/// The version that this program writes.
pub const VERSION: u64 = 3;

/// The header of a session: its version, identifier, start time, directory and parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    version: u64,
    id: String,
    timestamp: String,
    cwd: Option<String>,
    parent: Option<String>,
    text: String,
}

impl Header {
    /// Creates a header of the current version.
    pub(super) fn new(id: &str, timestamp: &str, cwd: &str, parent: Option<&str>) -> Self {
        let mut line = LineWriter::default();
        line.member("type", "session").member("version", &VERSION).member("id", id);
        line.member("timestamp", timestamp).member("cwd", cwd).optional("parentSession", parent.as_ref());
        Self {
            version: VERSION,
            id: id.to_owned(),
            timestamp: timestamp.to_owned(),
            cwd: Some(cwd.to_owned()),
            parent: parent.map(str::to_owned),
            text: line.end(),
        }
    }

    /// Parses a header. Fails with a reason that completes the message "is not a session: ...".
    pub(super) fn read(line: &str) -> Result<Self, &'static str> {
        const NO_HEADER: &str = "its first line is not a session header";
        let members = Members::read(line).map_err(|_| NO_HEADER)?;
        if members.get::<String>("type").as_deref() != Some("session") {
            return Err(NO_HEADER);
        }
        let id = members.get::<String>("id").ok_or("its header has no id")?;
        let version = match members.raw("version") {
            None => 1,
            Some(_) => members
                .get::<u64>("version")
                .filter(|version| *version > 0)
                .ok_or("the version in its header is not a positive whole number")?,
        };
        Ok(Self {
            version,
            id,
            timestamp: members.get("timestamp").unwrap_or_default(),
            cwd: members.get::<String>("cwd").filter(|cwd| !cwd.is_empty()),
            parent: members.get("parentSession"),
            text: line.to_owned(),
        })
    }

    /// Returns the header with the current version.
    pub(super) fn migrated(&self) -> Self {
        let mut header = self.clone();
        header.version = VERSION;
        if let Ok(mut members) = Members::read(&self.text) {
            members.set("version", &VERSION, "type");
            header.text = members.line();
        }
        header
    }

    /// Returns the version of the file.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the identifier of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the start time of the session as ISO text; empty if the header has no time.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// Returns the directory in which the session began.
    pub fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    /// Returns the parent of the session as written in the file, usually a path.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// Returns the text as written in the file, without the end of the line.
    pub fn json(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_written_in_the_recorded_order() {
        let header = Header::new("1", "2026-01-02T03:04:05.678Z", "/w", Some("/p.jsonl"));
        assert_eq!(
            header.json(),
            r#"{"type":"session","version":3,"id":"1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w","parentSession":"/p.jsonl"}"#
        );
        assert_eq!(Header::read(header.json()), Ok(header));
    }

    #[test]
    fn fm_f105_versions_are_whole_numbers() {
        let read = |version: &str| {
            Header::read(&format!(r#"{{"type":"session"{version},"id":"x"}}"#)).map(|header| header.version())
        };
        assert_eq!(read(""), Ok(1));
        for version in 1..5 {
            assert_eq!(read(&format!(r#","version":{version}"#)), Ok(version));
        }
        for wrong in ["\"3\"", "0", "-1", "2.5", "null", "[]"] {
            assert!(read(&format!(r#","version":{wrong}"#)).is_err(), "{wrong}");
        }
        assert!(Header::read(r#"{"type":"session","id":7}"#).is_err());
        assert!(Header::read(r#"{"type":"message","id":"x"}"#).is_err());
    }
}
