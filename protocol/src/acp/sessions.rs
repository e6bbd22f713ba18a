//! Methods that open, list, close and delete sessions.

use super::config::AcpConfigOption;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Any, List, Nothing, OptNull, Str};

protocol! {
    /// How an MCP server is reached.
    strings AcpMcpTransport(open) {
        /// Over its standard input and output.
        "stdio",
        /// By streamable HTTP.
        "http",
        /// By HTTP with server-sent events.
        "sse",
    }

    /// A name with a value: a variable of the environment, or a header.
    record AcpNamedValue {
        /// The name.
        name: Str,
        /// The value.
        value: Str,
        ;
        example {"name": "TOKEN_FILE", "value": "/run/token"}
    }

    /// An MCP server: a `command` that is started, or a `url`.
    record AcpMcpServer {
        /// How it is reached; a command where this is left out.
        type: OptNull<AcpMcpTransport>,
        /// Its name.
        name: Str,
        /// The program.
        command: OptNull<Str>,
        /// Arguments of the program.
        args: OptNull<List<Str>>,
        /// Variables of the program's environment.
        env: OptNull<List<AcpNamedValue>>,
        /// The address.
        url: OptNull<Str>,
        /// Headers of each request.
        headers: OptNull<List<AcpNamedValue>>,
        ;
        example {"name": "files", "command": "/usr/bin/mcp-files", "args": ["--stdio"], "env": []}
    }

    /// A session that was opened.
    record AcpNewSession {
        /// Names it from now on.
        sessionId: Str,
        /// What can be chosen in it.
        configOptions: OptNull<List<AcpConfigOption>>,
        /// Modes, of agents that have them.
        modes: OptNull<Any>,
        ;
        example {"sessionId": "sess_1"}
    }

    /// Starts a session.
    command new_session(AcpNewSessionParams {
        /// The working directory, absolute.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: List<AcpMcpServer>,
        /// Further directories to work in.
        additionalDirectories: OptNull<List<Str>>,
    }) -> AcpNewSession {
        wire: "session/new";
        answer: Done;
        lane: Immediate;
        errors {
            (-32000) AuthRequired "Authentication required" => "somebody has to sign in first";
        }
        example {"cwd": "/home/user/project", "mcpServers": []} -> {"sessionId": "sess_1"};
    }

    /// A session that was opened again.
    record AcpLoadedSession {
        /// What can be chosen in it.
        configOptions: OptNull<List<AcpConfigOption>>,
        /// Modes, of agents that have them.
        modes: OptNull<Any>,
    }

    /// Opens a session that is kept. Its whole history is told as updates before this is answered.
    command load_session(AcpLoadSessionParams {
        /// The session.
        sessionId: Str,
        /// The working directory, absolute.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: List<AcpMcpServer>,
        /// Further directories to work in.
        additionalDirectories: OptNull<List<Str>>,
    }) -> AcpLoadedSession {
        wire: "session/load";
        answer: Done;
        lane: Immediate;
        timeout: Never;
        errors {
            (-32002) ResourceNotFound "Resource not found: {uri}" => "no session has that id";
        }
        example {"sessionId": "sess_1", "cwd": "/home/user/project", "mcpServers": []} -> {};
    }

    /// Opens a session that is kept, without telling its history.
    command resume_session(AcpResumeSessionParams {
        /// The session.
        sessionId: Str,
        /// The working directory, absolute.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: OptNull<List<AcpMcpServer>>,
        /// Further directories to work in.
        additionalDirectories: OptNull<List<Str>>,
    }) -> AcpLoadedSession {
        wire: "session/resume";
        answer: Done;
        lane: Immediate;
        errors {
            (-32002) ResourceNotFound "Resource not found: {uri}" => "no session has that id";
        }
        example {"sessionId": "sess_1", "cwd": "/home/user/project"} -> {};
    }

    /// A session that is kept.
    record AcpSessionInfo {
        /// Names it.
        sessionId: Str,
        /// Its working directory.
        cwd: Str,
        /// Its name for people.
        title: OptNull<Str>,
        /// When somebody last spoke in it, as ISO 8601.
        updatedAt: OptNull<Str>,
        /// Further directories.
        additionalDirectories: OptNull<List<Str>>,
        ;
        example {"sessionId": "sess_1", "cwd": "/home/user/project", "title": "Fix the parser"}
    }

    /// Sessions that are kept.
    record AcpSessionList {
        /// The sessions, the newest first.
        sessions: List<AcpSessionInfo>,
        /// Where the next page begins; none where this is the last one.
        nextCursor: OptNull<Str>,
        ;
        example {"sessions": []}
    }

    /// Lists the sessions that are kept.
    command list_sessions(AcpListSessionsParams {
        /// Only those of that directory.
        cwd: OptNull<Str>,
        /// Where to go on, as the page before said.
        cursor: OptNull<Str>,
    }) -> AcpSessionList {
        wire: "session/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"cwd": "/home/user/project"} -> {"sessions": []};
    }

    /// Closes a session: what goes on in it is stopped, and it stays kept.
    command close_session(AcpCloseSessionParams {
        /// The session.
        sessionId: Str,
    }) -> Nothing {
        wire: "session/close";
        answer: Done;
        run: Stops;
        lane: Immediate;
        errors {
            (-32002) ResourceNotFound "Resource not found: {uri}" => "no session has that id";
        }
        example {"sessionId": "sess_1"};
    }

    /// Deletes a session that is kept. One that is open is closed first.
    command delete_session(AcpDeleteSessionParams {
        /// The session.
        sessionId: Str,
    }) -> Nothing {
        wire: "session/delete";
        answer: Done;
        run: Stops;
        lane: Immediate;
        example {"sessionId": "sess_1"};
    }
}
