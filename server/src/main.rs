//! The reference agent of agentese: a headless coding agent on stdio.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Commands run under this same binary as their guard; nothing may come before that.
    if let Some(code) = agentese_server::tools::guard::main_if_guard() {
        return code;
    }
    agentese_server::cli::main()
}
