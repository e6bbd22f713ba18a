//! Commands that a client runs in its terminals.

use super::requests::AcpDone;
use super::sessions::AcpNamedValue;
use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, OptNull, Str};

protocol! {
    /// The result of opening a terminal.
    record AcpTerminal {
        /// Id of the terminal.
        terminalId: Str,
        ;
        example {"terminalId": "term_1"}
    }

    /// Starts a command in a new terminal.
    dialog create_terminal(AcpCreateTerminal {
        /// Id of the session.
        sessionId: Str,
        /// Program to start.
        command: Str,
        /// Arguments of the program.
        args: OptNull<List<Str>>,
        /// Environment variables of the program.
        env: OptNull<List<AcpNamedValue>>,
        /// Absolute path of the working directory.
        cwd: OptNull<Str>,
        /// Maximum size of the stored output in bytes; older output is dropped.
        outputByteLimit: OptNull<Count>,
    }) -> AcpTerminal {
        wire: "terminal/create";
        example {"sessionId": "sess_1", "command": "/bin/sh", "args": ["-c", "ls"], "cwd": "/home/user/project"};
    }

    /// The exit status of a command: both members are null if it is unknown.
    record AcpExitStatus {
        /// Exit code of the command.
        exitCode: OptNull<Count>,
        /// Signal that ended the command.
        signal: OptNull<Str>,
        ;
        example {"exitCode": 0}
    }

    /// The output of a command.
    record AcpTerminalText {
        /// Output of the command so far.
        output: Str,
        /// `true` if the beginning of the output is missing.
        truncated: Bool,
        /// Exit status of the command, if it has ended.
        exitStatus: OptNull<AcpExitStatus>,
        ;
        example {"output": "main.rs\n", "truncated": false, "exitStatus": {"exitCode": 0}}
    }

    /// Returns the output of a command.
    dialog terminal_output(AcpTerminalOutput {
        /// Id of the session.
        sessionId: Str,
        /// Id of the terminal.
        terminalId: Str,
    }) -> AcpTerminalText {
        wire: "terminal/output";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Waits for the end of a command.
    dialog wait_for_terminal_exit(AcpWaitForExit {
        /// Id of the session.
        sessionId: Str,
        /// Id of the terminal.
        terminalId: Str,
    }) -> AcpExitStatus {
        wire: "terminal/wait_for_exit";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Ends a command; its terminal stays open.
    dialog kill_terminal(AcpKillTerminal {
        /// Id of the session.
        sessionId: Str,
        /// Id of the terminal.
        terminalId: Str,
    }) -> AcpDone {
        wire: "terminal/kill";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }

    /// Releases a terminal and ends its command if it still runs.
    dialog release_terminal(AcpReleaseTerminal {
        /// Id of the session.
        sessionId: Str,
        /// Id of the terminal.
        terminalId: Str,
    }) -> AcpDone {
        wire: "terminal/release";
        example {"sessionId": "sess_1", "terminalId": "term_1"};
    }
}
