//! stdin and stdout of this process: a thread reads stdin, the runtime's blocking pool writes stdout.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, IntoRawHandle};

use windows_sys::Win32::System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};

use super::super::streams::{BoxReader, BoxWriter};
use super::super::thread_reader::ThreadReader;

/// Opens stdin and stdout of this process.
pub(in super::super) fn open() -> io::Result<(BoxReader, BoxWriter)> {
    let input = File::from(io::stdin().as_handle().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_handle().try_clone_to_owned()?);
    Ok((Box::new(ThreadReader::start(input)?), Box::new(tokio::fs::File::from_std(output))))
}

/// Replaces stdout with stderr, and stdin with an empty input.
pub(in super::super) fn divert() -> io::Result<()> {
    replace(STD_OUTPUT_HANDLE, File::from(io::stderr().as_handle().try_clone_to_owned()?))?;
    replace(STD_INPUT_HANDLE, File::open("NUL")?)
}

fn replace(which: STD_HANDLE, file: File) -> io::Result<()> {
    // SAFETY: the handle is open and stays open: from here on the process owns it.
    #[allow(unsafe_code)]
    let result = unsafe { SetStdHandle(which, file.into_raw_handle()) };
    if result == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
