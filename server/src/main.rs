//! The reference agent of agentese: a headless coding agent on stdio.

use std::process::ExitCode;

/// Messages are made on one turn of the loop and freed on another, thousands at a time where a session is opened;
/// the system's allocator gives their pages back and takes them again each time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Commands run under this same binary as their guard; nothing may come before that.
    if let Some(code) = agentese_server::tools::guard::main_if_guard() {
        return code;
    }
    agentese_server::cli::main()
}
