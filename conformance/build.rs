//! Folders that are put into the program: a file that is added to one has to show.

fn main() {
    for folder in ["alternatives", "cases", "expected", "profiles", "transcripts"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
