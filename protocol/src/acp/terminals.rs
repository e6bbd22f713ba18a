//! Commands that a client runs in its terminals.

use super::requests::AcpDone;
use super::sessions::AcpNamedValue;
use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, OptNull, Str};

protocol! {
    /// A terminal that was opened.
    record AcpTerminal {
        /// Names it.
        terminalId: Str,
        ;
        example {"terminalId": "term_1"}
    }

    /// Starts a command in a new terminal.
    dialog create_terminal(AcpCreateTerminal {
        /// The session.
        sessionId: Str,
        /// The program.
        command: Str,
        /// Its arguments.
        args: OptNull<List<Str>>,
        /// Variables of its environment.
        env: OptNull<List<AcpNamedValue>>,
        /// Where it runs, absolute.
        cwd: OptNull<Str>,
        /// How much of its output is kept, in bytes; the end of it.
        outputByteLimit: OptNull<Count>,
    }) -> AcpTerminal {
        wire: "terminal/create";
        example {"sessionId": "sess_1", "command": "/bin/sh", "args": ["-c", "ls"], "cwd": "/home/user/project"};
    }

    /// How a command ended: both members are null where nobody knows.
    record AcpExitStatus {
        /// Its exit code.
        exitCode: OptNull<Count>,
        /// The signal that ended it.
        signal: OptNull<Str>,
        ;
        example {"exitCode": 0}
    }

    /// What a command has written.
    record AcpTerminalText {
        /// Its output so far.
        output: Str,
        /// Whether the beginning of it is missing.
        truncated: Bool,
        /// How it ended, where it has.
        exitStatus: OptNull<AcpExitStatus>,
        ;
        example {"output": "main.rs\n", "truncated": false, "exitStatus": {"exitCode": 0}}
    }

    /// Asks what a command has written.
    dialog terminal_output(AcpTerminalOutput {
        /// The session.
        sessionId: Str,
        /// The terminal.
        terminalId: Str,
    }) -> AcpTerminalText {
        wire: "terminal/output";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Waits for the end of a command.
    dialog wait_for_terminal_exit(AcpWaitForExit {
        /// The session.
        sessionId: Str,
        /// The terminal.
        terminalId: Str,
    }) -> AcpExitStatus {
        wire: "terminal/wait_for_exit";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Ends a command; its terminal stays.
    dialog kill_terminal(AcpKillTerminal {
        /// The session.
        sessionId: Str,
        /// The terminal.
        terminalId: Str,
    }) -> AcpDone {
        wire: "terminal/kill";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Gives a terminal back; a command that still runs is ended.
    dialog release_terminal(AcpReleaseTerminal {
        /// The session.
        sessionId: Str,
        /// The terminal.
        terminalId: Str,
    }) -> AcpDone {
        wire: "terminal/release";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }
}
