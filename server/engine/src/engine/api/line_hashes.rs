//! Marks before the lines of a file. A mark is the number of the line and two letters. The letters are a hash
//! of the line, so they change when the line changes.

use xxhash_rust::xxh32::xxh32;

/// The letter for each value of four bits; the same as in omp 13.19.
const HASH_LETTERS: &[u8; 16] = b"ZPMQVRWSNKTXJBYH";

/// Returns the text with a mark before each of its first `count` lines, as in `3#KM:fn main() {`. The lines after
/// these are notes about the file and get no mark.
pub fn with_line_hashes(text: &str, count: u64) -> String {
    let line = |(line, number): (&str, u32)| match u64::from(number) <= count {
        true => format!("{number}#{}:{line}", line_hash(number, line)),
        false => line.to_owned(),
    };
    text.split('\n').zip(1..).map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the letters of a line. White space at its end is ignored. If the line has neither letters nor digits,
/// its number is part of the hash, because many such lines are equal.
fn line_hash(number: u32, line: &str) -> String {
    let line = line.replace('\r', "");
    let line = line.trim_end();
    let seed = if line.contains(char::is_alphanumeric) { 0 } else { number };
    let hash = xxh32(line.as_bytes(), seed);
    [hash >> 4, hash].into_iter().map(|bits| char::from(HASH_LETTERS[(bits & 15) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_file_have_no_hash() {
        assert_eq!(with_line_hashes("alpha\n\n[more]", 1), "1#JN:alpha\n\n[more]");
        assert_eq!(with_line_hashes("[too long]", 0), "[too long]");
    }

    #[test]
    fn each_line_has_its_number_and_its_hash() {
        let marked = |text| with_line_hashes(text, 9);
        assert_eq!(marked("alpha\n"), "1#JN:alpha\n2#KM:");
        // White space at the end and a carriage return are ignored for the mark, and stay in the text.
        assert_eq!(marked("alpha \r"), "1#JN:alpha \r");
        // Lines without letters and digits differ by their position.
        let braces = marked("}\n}");
        let hashes: Vec<_> =
            braces.lines().filter_map(|line| line.split_once('#')).map(|(_, mark)| mark).collect();
        assert_ne!(hashes[0], hashes[1], "{braces}");
        assert_eq!(marked("x\n}").lines().last(), marked("y\n}").lines().last());
    }
}
