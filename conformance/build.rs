//! Rebuilds the program if a file is added to one of its embedded folders.

fn main() {
    for folder in ["alternatives", "cases", "expected", "profiles", "transcripts"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
