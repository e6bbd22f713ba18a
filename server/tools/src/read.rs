//! The tool that reads files.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::editor_files::LARGEST_FILE;
use super::image::{self, ImageError, Kind, MAGIC_LENGTH};
use super::locks::ABORTED;
use super::truncate::{Limits, TextSize, TruncatedBy, Truncation, format_size, truncate_head_of};
use super::{StructuredOutput, Tool, ToolContent, ToolContext, ToolOutput, blocking, paths};
use crate::os_error;
use agentese_server_base::encoding::{Encoding, Utf8Converter};

const CHUNK: usize = 64 * 1024;

/// Reads a text file, whole or in parts, or an image.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadTool;

impl Tool for ReadTool {
    fn name(&self) -> &str {
        "read"
    }

    fn description(&self) -> &str {
        "Reads a file. Of a text file you get up to 2000 lines or 50KB from the given line on, and a note says how to \
         go on from there. PNG, JPEG, GIF and WebP files come as images, large ones scaled down. \
         Directories are not read: list them with ls."
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, relative to the working directory or absolute"},
                "offset": {"type": "integer", "minimum": 0, "description": "The first line to read; lines count from 1"},
                "limit": {"type": "integer", "minimum": 1, "description": "The most lines to read"},
            },
            "required": ["path"],
        })
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        execute(context, arguments).boxed()
    }
}

async fn execute(context: &ToolContext, arguments: Value) -> ToolOutput {
    let job = ReadJob {
        path: paths::resolve_existing(&context.cwd, arguments["path"].as_str().unwrap_or_default()),
        first: arguments["offset"].as_u64().unwrap_or(1).saturating_sub(1),
        count: arguments["limit"].as_u64(),
        auto_resize: context.auto_resize_images,
        block_images: context.block_images,
        no_vision_details: context.no_vision_details.clone(),
    };
    let result = match context.read_in_editor(&job.path).await {
        Ok(Some(text)) => blocking::run_unless_aborted(&context.abort, move |_| job.run_on_text(&text)).await,
        Ok(None) => blocking::run_unless_aborted(&context.abort, move |stop| job.run(stop)).await,
        Err(reason) => Err(reason),
    };
    result.into()
}

struct ReadJob {
    path: PathBuf,
    /// Number of lines that are skipped before the first requested line.
    first: u64,
    count: Option<u64>,
    auto_resize: bool,
    block_images: bool,
    /// Details of a result with an image, if the model accepts no images.
    no_vision_details: Option<Value>,
}

impl ReadJob {
    fn run(self, stop: &CancellationToken) -> Result<ToolOutput, String> {
        let problem = |call: &str, error: io::Error| os_error::describe(&error, call, &self.path);
        // Opening a device or a FIFO can have effects, so the type is checked before. It is checked again afterwards,
        // because the name may refer to another file by then.
        let metadata = std::fs::metadata(&self.path).map_err(|error| problem("access", error))?;
        check_is_file(&self.path, &metadata)?;
        let mut file = open(&self.path).map_err(|error| problem("open", error))?;
        let metadata = file.metadata().map_err(|error| problem("stat", error))?;
        check_is_file(&self.path, &metadata)?;

        let mut start = [0; MAGIC_LENGTH];
        let length = read_full(&mut file, &mut start).map_err(|error| problem("read", error))?;
        let start = &start[..length];
        match Kind::of(start) {
            Some(kind) => self.image(file, start, kind).map_err(|error| problem("read", error)),
            None => self.text(file, start, &metadata, stop),
        }
    }

    /// Returns the result for the text of a file that an editor has read.
    fn run_on_text(self, text: &str) -> Result<ToolOutput, String> {
        let mut lines = LineRange::new(self.first, self.count);
        lines.push(text.as_bytes());
        self.text_output(lines)
    }

    /// Returns the result for an image. If the image cannot be shown, the result contains the reason and is not a
    /// failure.
    fn image(&self, file: File, start: &[u8], kind: Kind) -> io::Result<ToolOutput> {
        let label = |mime_type: &str| format!("Read image file [{mime_type}]");
        let left_out = |reason: &str| {
            ToolOutput::text(format!("{}\n\n[The image is left out: {reason}.]", label(kind.mime_type())))
        };
        if self.block_images {
            return Ok(left_out("the settings block images"));
        }
        let mut bytes = start.to_vec();
        file.take(image::LARGEST_FILE + 1 - start.len() as u64).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > image::LARGEST_FILE {
            let limit = format_size(image::LARGEST_FILE);
            return Ok(left_out(&format!(
                "the file has more than {limit}; make a smaller copy and read that"
            )));
        }
        let prepared = match image::prepare_file(&bytes, kind, self.auto_resize) {
            Ok(prepared) => prepared,
            Err(error @ (ImageError::Size { .. } | ImageError::Dimensions { .. })) => {
                return Ok(left_out(&format!("{error}; make a smaller copy and read that")));
            }
            Err(error) => return Ok(left_out(&error.to_string())),
        };
        let mut text = label(prepared.mime_type);
        if let Some(resized) = prepared.resized {
            text.push_str(&format!("\n{}", resized.note()));
        }
        let image = ToolContent::Image { data: prepared.data, mime_type: prepared.mime_type.to_owned() };
        Ok(ToolOutput {
            content: vec![ToolContent::Text(text), image],
            details: self.no_vision_details.clone(),
            is_error: false,
            took: None,
            structured: Some(StructuredOutput::FromContent),
        })
    }

    fn text(
        &self,
        mut file: File,
        start: &[u8],
        metadata: &Metadata,
        stop: &CancellationToken,
    ) -> Result<ToolOutput, String> {
        if metadata.len() > LARGEST_FILE {
            return Err(self.too_large(&format!("has {}", format_size(metadata.len()))));
        }
        let mut lines = LineRange::new(self.first, self.count);
        let mut text = Utf8Converter::new(Encoding::of(start));
        lines.push(&text.push(start));
        let (mut chunk, mut total) = (vec![0; CHUNK], start.len() as u64);
        loop {
            if stop.is_cancelled() {
                return Err(ABORTED.to_owned());
            }
            let count = read_full(&mut file, &mut chunk)
                .map_err(|error| os_error::describe(&error, "read", &self.path))?;
            if count == 0 {
                break;
            }
            // Generated files of the kernel have no size in advance, and a log may grow during the read.
            total += count as u64;
            if total > LARGEST_FILE {
                return Err(self.too_large("goes on"));
            }
            lines.push(&text.push(&chunk[..count]));
        }
        lines.push(text.finish());
        self.text_output(lines)
    }

    fn too_large(&self, what: &str) -> String {
        let (path, limit) = (self.path.display(), format_size(LARGEST_FILE));
        format!("{path} {what}, more than the {limit} that read takes. Use bash to look at a part of it.")
    }

    fn text_output(&self, mut lines: LineRange) -> Result<ToolOutput, String> {
        let total = lines.line + 1;
        if self.first >= total {
            return Err(format!("Offset {} is past the end of the file ({total} lines)", self.first + 1));
        }
        let mut selected = lines.selected();
        lines.window.truncate(usize::try_from(selected.bytes).unwrap_or(usize::MAX));
        let text = String::from_utf8_lossy(&lines.window);
        if lines.window.len() as u64 == selected.bytes {
            // Replacement characters may be longer than the invalid bytes.
            selected.bytes = text.len() as u64;
        }
        let cut = truncate_head_of(&text, selected, Limits::default());
        let after = self.first + selected.lines;
        if cut.truncated() {
            let text = self.cut_text(&cut, total, lines.first_line);
            return Ok(ToolOutput::text(text)
                .with_details(json!({"truncation": cut.to_json()}))
                .with_content_as_data());
        }
        let mut text = cut.content;
        if after < total {
            let (rest, next) = (total - after, after + 1);
            text.push_str(&format!("\n\n[{rest} more lines in file. Use offset={next} to continue.]"));
        }
        Ok(ToolOutput::text(text).with_content_as_data())
    }

    fn cut_text(&self, cut: &Truncation, total: u64, first_line: u64) -> String {
        let first = self.first + 1;
        let limit = format_size(cut.limits.max_bytes as u64);
        if cut.first_line_exceeds_limit {
            let (size, path, bytes) =
                (format_size(first_line), paths::shell_word(&self.path), cut.limits.max_bytes);
            return format!(
                "[Line {first} alone has {size}, more than the {limit} limit. Its beginning: sed -n '{first}p' {path} | \
                 head -c {bytes}]"
            );
        }
        let last = self.first + cut.output_lines;
        let limit = match cut.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({limit} limit)"),
            _ => String::new(),
        };
        let (content, next) = (&cut.content, last + 1);
        format!(
            "{content}\n\n[Showing lines {first}-{last} of {total}{limit}. Use offset={next} to continue.]"
        )
    }
}

/// Returns the number of lines at the beginning of a result that are lines of the file. The lines after them are notes.
/// Returns 0 for a note in place of an image, and `u64::MAX` for a complete text.
pub fn lines_of_file(output: &ToolOutput) -> u64 {
    let cut = output.details.as_ref().map(|details| &details["truncation"]["outputLines"]);
    match (&output.structured, cut.and_then(Value::as_u64)) {
        (Some(StructuredOutput::FromContent), Some(lines)) => lines,
        (Some(StructuredOutput::FromContent), None) => u64::MAX,
        _ => 0,
    }
}

fn check_is_file(path: &Path, metadata: &Metadata) -> Result<(), String> {
    let (kind, path) = (metadata.file_type(), path.display());
    if kind.is_dir() {
        return Err(format!("EISDIR: {path} is a directory. Use ls in bash to see what is in it."));
    }
    let special = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else {
        return Ok(());
    };
    Err(format!("{path} is {special}; only files are read"))
}

fn open(path: &Path) -> io::Result<File> {
    // Does not block if the name refers to a FIFO by now, or to a kernel file that blocks.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
fn read_full(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Selects a range of lines from a stream, and stores only the part that the model receives.
struct LineRange {
    first: u64,
    end: u64,
    /// Number of the line of the next byte, counted from 0.
    line: u64,
    /// The beginning of the range: all of it, or a little more than the byte limit.
    window: Vec<u8>,
    /// Size of the range in bytes, with all of its newlines.
    bytes: u64,
    /// Size of the first line in bytes, without its newline.
    first_line: u64,
}

impl LineRange {
    fn new(first: u64, count: Option<u64>) -> Self {
        let end = count.map_or(u64::MAX, |count| first.saturating_add(count));
        Self { first, end, line: 0, window: Vec::new(), bytes: 0, first_line: 0 }
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let newline = memchr::memchr(b'\n', bytes);
            let (line, rest) = bytes.split_at(newline.map_or(bytes.len(), |at| at + 1));
            if (self.first..self.end).contains(&self.line) {
                if self.line == self.first {
                    self.first_line += newline.unwrap_or(line.len()) as u64;
                }
                self.bytes += line.len() as u64;
                let room = (Limits::default().max_bytes + 8).saturating_sub(self.window.len());
                self.window.extend_from_slice(&line[..room.min(line.len())]);
            }
            self.line += u64::from(newline.is_some());
            bytes = rest;
        }
    }

    /// Returns the number of lines and bytes of the range, without the newline after its last line.
    fn selected(&self) -> TextSize {
        let ended = self.line >= self.end;
        let lines = (self.line + 1).min(self.end) - self.first;
        TextSize { lines, bytes: self.bytes - u64::from(ended) }
    }
}
