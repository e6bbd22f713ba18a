//! Options and content of a replacement.

use std::io::{self, Write};
use std::path::Path;

/// Options of a replacement.
pub struct Options<'a> {
    /// The directory for a temporary copy of the old content, if the target's own directory accepts no new
    /// file.
    pub scratch: &'a Path,
    /// The mode of a new file, before the umask is applied. If the file replaces an existing one, it keeps
    /// the mode of the existing file.
    pub mode: u32,
    /// The mode that the file gets even if it exists; `None` to keep the mode of an existing file.
    pub exact_mode: Option<u32>,
}

/// Writes the content to a file.
pub(super) type ContentWriter<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;
