//! Reduces the memory usage of a release build for Linux. The linker script `start.ld` places functions that
//! run at every start and in every answer next to each other. Relocations are packed if the loader of the
//! system can unpack them.

use std::env::var;
use std::path::Path;
use std::process::Command;

/// Linkers that do not support `start.ld`. They are selected by the flags of the build or by `mold -run`.
const WITHOUT: [&str; 3] = ["mold", "wild", "gold"];

/// First version of glibc that unpacks relocations.
const UNPACKS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=start.ld");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=MOLD_PATH");
    let value = |name: &str| var(name).unwrap_or_default();
    let flags = value("CARGO_ENCODED_RUSTFLAGS") + &value("RUSTC_LINKER");
    let reads = !WITHOUT.iter().any(|linker| flags.contains(linker)) && var("MOLD_PATH").is_err();
    if value("PROFILE") == "release" && value("CARGO_CFG_TARGET_OS") == "linux" && reads {
        let script = Path::new(&value("CARGO_MANIFEST_DIR")).join("start.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
        let runs_here = value("HOST") == value("TARGET") && value("CARGO_CFG_TARGET_ENV") == "gnu";
        if runs_here && glibc().is_some_and(|version| version >= UNPACKS) {
            println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// Returns the version of this system's C library, or `None` if it is not glibc.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
