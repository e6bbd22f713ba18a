//! Members with which agents extend tool calls. ACP leaves them free: `_meta` belongs to the peer that adds it, and
//! `rawInput` and `rawOutput` are values of the tool. A receiver ignores a member that does not fit its type.

use crate::dsl::protocol;
use crate::typed::{Any, Int, OptNull, Str};

protocol! {
    /// The name of a tool, as a member of an extension.
    record AcpToolIdentity {
        /// Name of the tool.
        toolName: OptNull<Str>,
        ;
        example {"toolName": "Bash"}
    }

    /// The extensions of goose.
    record AcpGooseExtensions {
        /// Tool of the call.
        toolCall: OptNull<AcpToolIdentity>,
        ;
        example {"toolCall": {"toolName": "developer__shell"}}
    }

    /// A terminal of the agent, in which a command of the call runs. The client has no such terminal.
    record AcpAgentTerminal {
        /// Id of the terminal.
        terminal_id: OptNull<Str>,
        /// Absolute path of the working directory.
        cwd: OptNull<Str>,
        ;
        example {"terminal_id": "call_1", "cwd": "/home/user/project"}
    }

    /// A piece of the output of a command. A client appends it to the earlier pieces.
    record AcpAgentTerminalOutput {
        /// Id of the terminal.
        terminal_id: OptNull<Str>,
        /// Text of the piece.
        data: Str,
        ;
        example {"terminal_id": "call_1", "data": "main.rs\n"}
    }

    /// The end of a command: in `_meta`, and as members of `rawOutput` (Codex, Grok).
    record AcpAgentTerminalExit {
        /// Id of the terminal.
        terminal_id: OptNull<Str>,
        /// Exit code of the command.
        exit_code: OptNull<Int>,
        /// Signal that ended the command.
        signal: OptNull<Str>,
        ;
        example {"terminal_id": "call_1", "exit_code": 0, "signal": null}
    }

    /// Members of the `_meta` of a tool call.
    record AcpCallExtensions {
        /// Tool of the call, from qwen-code and others.
        toolName: OptNull<Str>,
        /// Tool of the call, from Claude Code.
        claudeCode: OptNull<AcpToolIdentity>,
        /// Tool of the call, from goose.
        goose: OptNull<AcpGooseExtensions>,
        /// Terminal of a command, from Codex and Claude Code.
        terminal_info: OptNull<AcpAgentTerminal>,
        /// Output of a command, from Zed's adapter of Codex, from Claude Code and others.
        terminal_output: OptNull<AcpAgentTerminalOutput>,
        /// Output of a command, from Codex, for clients without a capability for terminals.
        terminal_output_delta: OptNull<AcpAgentTerminalOutput>,
        /// End of a command, from Codex and Claude Code.
        terminal_exit: OptNull<AcpAgentTerminalExit>,
        ;
        example {
            "claudeCode": {"toolName": "Bash"}, "terminal_output": {"terminal_id": "call_1", "data": "main.rs\n"},
            "terminal_exit": {"terminal_id": "call_1", "exit_code": 0, "signal": null}
        }
    }

    /// Members that name the tool of a call: of `_meta` (Mistral Vibe), or of `rawInput` if the arguments are in a
    /// member of their own (Codex and Hermes: `tool`; Grok: `tool_name`).
    record AcpNamedTool {
        /// Name of the tool.
        tool: OptNull<Str>,
        /// Name of the tool.
        tool_name: OptNull<Str>,
        ;
        example {"tool": "write_file", "arguments": {"path": "notes.md"}}
    }

    /// Members of `rawOutput` that contain the text of the output, in order of preference. Each is a text, a list of
    /// content blocks, or an object with one of these members again.
    record AcpRawOutput {
        /// Output as the model receives it, from Codex.
        formatted_output: OptNull<Any>,
        /// Output of both streams, from Codex.
        aggregated_output: OptNull<Any>,
        /// Output, from opencode and others.
        output: OptNull<Any>,
        /// Output as the model receives it, from Grok.
        output_for_prompt: OptNull<Any>,
        /// Standard output of a command.
        stdout: OptNull<Any>,
        /// Standard error of a command, after `stdout`.
        stderr: OptNull<Any>,
        /// Output as a text, from agentese.
        text: OptNull<Any>,
        /// Output as content, from MCP servers and Copilot CLI.
        content: OptNull<Any>,
        /// Result of an MCP server.
        result: OptNull<Any>,
        /// Reason of a failure.
        error: OptNull<Any>,
        ;
        example {"formatted_output": "main.rs\n", "exit_code": 0}
    }

    /// The exit code of a command as a member of `rawOutput`, in agents that write names like this one.
    record AcpRawExitCode {
        /// Exit code of the command.
        exitCode: OptNull<Int>,
        ;
        example {"exitCode": 2}
    }
}
