//! Two connected transports in memory.

use super::Transport;

/// Creates two connected transports. Each side reads the bytes that the other side writes. Each direction
/// buffers up to `buffer` bytes.
///
/// If the buffer is full, the writer waits, as with a full pipe. Dropping the writer of one side ends the
/// stream of the other side.
pub fn memory_pair(buffer: usize) -> (Transport, Transport) {
    // Two one-way streams instead of one split two-way stream: each half can be dropped on its own.
    let (left_writer, right_reader) = tokio::io::duplex(buffer);
    let (right_writer, left_reader) = tokio::io::duplex(buffer);
    (Transport::from_io(left_reader, left_writer), Transport::from_io(right_reader, right_writer))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn bytes_cross_and_a_dropped_writer_is_the_end() {
        let (mut left, mut right) = memory_pair(64);
        left.writer.write_all(b"ping\n").await.unwrap();
        right.writer.write_all(b"pong\n").await.unwrap();
        drop(left.writer);
        let mut received = String::new();
        right.reader.read_to_string(&mut received).await.unwrap();
        assert_eq!(received, "ping\n");
        // The other direction continues.
        let mut answer = [0; 5];
        left.reader.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"pong\n");
    }
}
