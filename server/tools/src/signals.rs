//! Names of signals.

/// Returns the name of a signal number on this system, such as `SIGKILL`; `signal N` for a number without a
/// name.
pub fn signal_name(number: i32) -> String {
    use rustix::process::Signal;
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::STOP, "SIGSTOP"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    match known.iter().find(|(signal, _)| signal.as_raw() == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_have_names() {
        assert_eq!(super::signal_name(9), "SIGKILL");
        assert_eq!(super::signal_name(15), "SIGTERM");
        assert_eq!(super::signal_name(63), "signal 63");
    }
}
