//! Has the functions that every start and every answer runs put side by side in a release build for Linux (`start.ld`).

use std::env::var;
use std::path::Path;

/// Linkers that do not read the script, where the flags of the build or `mold -run` name them.
const WITHOUT: [&str; 3] = ["mold", "wild", "gold"];

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MOLD_PATH");
    let said = |name: &str| var(name).unwrap_or_default();
    let flags = said("CARGO_ENCODED_RUSTFLAGS") + &said("RUSTC_LINKER");
    let reads = !WITHOUT.iter().any(|linker| flags.contains(linker)) && var("MOLD_PATH").is_err();
    if said("PROFILE") == "release" && said("CARGO_CFG_TARGET_OS") == "linux" && reads {
        let script = Path::new(&said("CARGO_MANIFEST_DIR")).join("start.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}
