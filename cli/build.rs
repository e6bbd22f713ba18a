//! Has a release build for Linux take less memory: the functions that every start and every answer runs stand side by side
//! (`start.ld`), and what the system's loader has to fill in is packed, where that loader can read it so.

use std::env::var;
use std::path::Path;
use std::process::Command;

/// Linkers that do not read the script, where the flags of the build or `mold -run` name them.
const WITHOUT: [&str; 3] = ["mold", "wild", "gold"];

/// The first glibc that unpacks relocations.
const UNPACKS: (u32, u32) = (2, 36);

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
        let runs_here = said("HOST") == said("TARGET") && said("CARGO_CFG_TARGET_ENV") == "gnu";
        if runs_here && glibc().is_some_and(|version| version >= UNPACKS) {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// The version of this system's C library, where it is glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
