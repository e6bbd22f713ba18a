//! The body of a request as JSON text. It is written item by item; a long text is written to a file.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::Value;
use tempfile::{SpooledData, SpooledTempFile};

use super::verbatim::JsonText;
use crate::{ProviderError, ProviderErrorKind};

/// Maximum number of bytes of a body in memory.
const MAX_IN_MEMORY: usize = 4 << 20;

/// Directory for long bodies if `TMPDIR` is not set. It keeps its files on disk, whereas `/tmp` may be held in memory.
const SPOOL_DIR: &str = "/var/tmp";

/// The body of a request.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// The body is short and in memory.
    Memory(Bytes),
    /// The body is long and in a file without a name.
    File {
        /// The file, which is read by position.
        file: Arc<File>,
        /// Length of the file in bytes.
        length: u64,
    },
}

impl Body {
    /// Writes an object with `members` and a list named `list`, whose items `write` adds. Fails if a long body cannot
    /// be written to disk.
    pub(in crate::apis) fn write(
        members: &Value,
        list: &str,
        write: impl FnOnce(&mut ListWriter<'_>),
    ) -> Result<Self, ProviderError> {
        Self::try_write(members, list, MAX_IN_MEMORY, write).map_err(|error| {
            let text = format!("The request cannot be written to a temporary file: {error}.");
            ProviderError::new(ProviderErrorKind::BadRequest, text)
        })
    }

    fn try_write(
        members: &Value,
        list: &str,
        in_memory: usize,
        write: impl FnOnce(&mut ListWriter<'_>),
    ) -> io::Result<Self> {
        let mut out = BufWriter::new(spool(in_memory));
        let mut write = Some(write);
        out.write_all(b"{")?;
        for (at, (name, value)) in members.as_object().into_iter().flatten().enumerate() {
            if at > 0 {
                out.write_all(b",")?;
            }
            serde_json::to_writer(&mut out, name)?;
            out.write_all(b":")?;
            match write.take_if(|_| name == list) {
                Some(write) => ListWriter::write(&mut out, write)?,
                None => out.write_all(&serde_json::to_vec(&JsonText(value))?)?,
            }
        }
        out.write_all(b"}")?;
        Self::of(out.into_inner()?)
    }

    fn of(spool: SpooledTempFile) -> io::Result<Self> {
        Ok(match spool.into_inner() {
            SpooledData::InMemory(text) => Self::Memory(text.into_inner().into()),
            SpooledData::OnDisk(mut file) => {
                let length = file.seek(SeekFrom::End(0))?;
                Self::File { file: Arc::new(file), length }
            }
        })
    }

    /// Returns `true` if the two forms of a request have the same text. Texts in files are compared by length, because
    /// each alternative form has another length.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Memory(text), Self::Memory(other)) => text == other,
            (Self::File { length, .. }, Self::File { length: other, .. }) => length == other,
            _ => false,
        }
    }

    /// Reads the body as JSON.
    #[cfg(test)]
    pub fn value(&self) -> Value {
        match self {
            Self::Memory(text) => serde_json::from_slice(text).unwrap(),
            Self::File { file, .. } => {
                (&**file).seek(SeekFrom::Start(0)).unwrap();
                serde_json::from_reader(io::BufReader::new(&**file)).unwrap()
            }
        }
    }
}

/// Creates a buffer that moves its text to a file if the text is longer than `in_memory` bytes.
fn spool(in_memory: usize) -> SpooledTempFile {
    /// True if files can be created in [`SPOOL_DIR`]; checked once.
    static IS_WRITABLE: LazyLock<bool> = LazyLock::new(|| tempfile::tempfile_in(SPOOL_DIR).is_ok());
    match std::env::var_os("TMPDIR").is_none() && *IS_WRITABLE {
        true => tempfile::spooled_tempfile_in(in_memory, SPOOL_DIR),
        false => tempfile::spooled_tempfile(in_memory),
    }
}

/// Writes the items of a list. The newest items are held back, so that they can still be changed.
pub(super) struct ListWriter<'a> {
    out: &'a mut BufWriter<SpooledTempFile>,
    held: Vec<Value>,
    /// Test for the first item that is held back. If an added item passes the test, all earlier items are written.
    is_hold_start: fn(&Value) -> bool,
    is_empty: bool,
    /// The error that ended the writing.
    error: Option<io::Error>,
}

impl<'a> ListWriter<'a> {
    fn write(out: &'a mut BufWriter<SpooledTempFile>, write: impl FnOnce(&mut Self)) -> io::Result<()> {
        out.write_all(b"[")?;
        let mut items = Self { out, held: Vec::new(), is_hold_start: |_| true, is_empty: true, error: None };
        write(&mut items);
        items.flush();
        items.error.map_or(Ok(()), Err)?;
        items.out.write_all(b"]")
    }

    /// Sets the test for the first item that is held back. By default only the newest item is held back.
    pub fn hold_from(&mut self, is_hold_start: fn(&Value) -> bool) {
        self.is_hold_start = is_hold_start;
    }

    /// Adds an item.
    pub fn push(&mut self, item: Value) {
        if (self.is_hold_start)(&item) {
            self.flush();
        }
        self.held.push(item);
    }

    /// Returns the items that are held back.
    pub fn held(&mut self) -> &mut [Value] {
        &mut self.held
    }

    /// Returns the newest item for changes.
    pub fn last_mut(&mut self) -> Option<&mut Value> {
        self.held.last_mut()
    }

    fn flush(&mut self) {
        for item in std::mem::take(&mut self.held) {
            let comma = !std::mem::replace(&mut self.is_empty, false);
            if self.error.is_none() {
                self.error = write_item(self.out, comma, &item).err();
            }
        }
    }
}

impl Extend<Value> for ListWriter<'_> {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

fn write_item(out: &mut impl Write, comma: bool, item: &Value) -> io::Result<()> {
    if comma {
        out.write_all(b",")?;
    }
    out.write_all(&serde_json::to_vec(&JsonText(item))?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(in_memory: usize, write: impl FnOnce(&mut ListWriter<'_>)) -> Body {
        let members = json!({"model": "m", "messages": null, "stream": true});
        Body::try_write(&members, "messages", in_memory, write).unwrap()
    }

    #[test]
    fn long_bodies_in_files_equal_short_bodies_in_memory() {
        let items =
            |items: &mut ListWriter<'_>| items.extend((0..1000).map(|number| json!({"number": number})));
        let (short, long) = (written(MAX_IN_MEMORY, items), written(100, items));
        let Body::Memory(text) = &short else { panic!("{short:?}") };
        let Body::File { length, .. } = &long else { panic!("{long:?}") };
        assert_eq!(*length, text.len() as u64);
        assert_eq!(short.value(), long.value());
        let whole = json!({"model": "m", "messages": short.value()["messages"], "stream": true});
        assert_eq!(
            text,
            whole.to_string().as_bytes(),
            "the members stand in the order in which they were given"
        );
        assert_eq!(whole["messages"][999], json!({"number": 999}));
    }

    #[test]
    fn the_newest_items_can_be_changed_until_all_are_written() {
        let marked = |is_hold_start: Option<fn(&Value) -> bool>| {
            let body = written(MAX_IN_MEMORY, |items| {
                if let Some(is_hold_start) = is_hold_start {
                    items.hold_from(is_hold_start);
                }
                items.extend([json!([1]), json!([2]), json!(3), json!(4)]);
                items.held().iter_mut().for_each(|item| *item = json!("held"));
            });
            body.value()["messages"].clone()
        };
        assert_eq!(marked(None), json!([[1], [2], 3, "held"]));
        assert_eq!(marked(Some(Value::is_array)), json!([[1], "held", "held", "held"]));
        assert_eq!(written(MAX_IN_MEMORY, |_| {}).value()["messages"], json!([]));
    }

    #[test]
    fn a_body_that_cannot_be_written_fails_with_the_reason() {
        let body = Body::write(&json!({"messages": null}), "messages", |items| {
            items.error = Some(io::ErrorKind::StorageFull.into());
            items.push(json!(1));
        });
        let failure = body.unwrap_err();
        assert!(failure.text.contains("temporary file: no storage space"), "{failure:?}");
    }
}
