//! Methods that open, list, close and delete sessions.

use super::config::AcpConfigOption;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Any, List, Nothing, OptNull, Str};

protocol! {
    /// The transport of an MCP server.
    strings AcpMcpTransport(open) {
        /// Standard input and output.
        "stdio",
        /// Streamable HTTP.
        "http",
        /// HTTP with server-sent events.
        "sse",
    }

    /// A name with a value: an environment variable or a header.
    record AcpNamedValue {
        /// Name of the variable or header.
        name: Str,
        /// Value of the variable or header.
        value: Str,
        ;
        example {"name": "TOKEN_FILE", "value": "/run/token"}
    }

    /// An MCP server: a `command` to start, or a `url`.
    record AcpMcpServer {
        /// Transport of the server; stdio if absent.
        type: OptNull<AcpMcpTransport>,
        /// Name of the server.
        name: Str,
        /// Program of the server.
        command: OptNull<Str>,
        /// Arguments of the program.
        args: OptNull<List<Str>>,
        /// Environment variables of the program.
        env: OptNull<List<AcpNamedValue>>,
        /// Address of the server.
        url: OptNull<Str>,
        /// Headers of each request.
        headers: OptNull<List<AcpNamedValue>>,
        ;
        example {"name": "files", "command": "/usr/bin/mcp-files", "args": ["--stdio"], "env": []}
    }

    /// The result of a new session.
    record AcpNewSession {
        /// Id of the session.
        sessionId: Str,
        /// Options of the session.
        configOptions: OptNull<List<AcpConfigOption>>,
        /// Modes of the session, if the agent has modes.
        modes: OptNull<Any>,
        ;
        example {"sessionId": "sess_1"}
    }

    /// Starts a session.
    command new_session(AcpNewSessionParams {
        /// Absolute path of the working directory.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: List<AcpMcpServer>,
        /// Additional working directories.
        additionalDirectories: OptNull<List<Str>>,
    }) -> AcpNewSession {
        wire: "session/new";
        answer: Done;
        lane: Immediate;
        errors {
            (-32000) AuthRequired "Authentication required" => "the user has not logged in";
        }
        example {"cwd": "/home/user/project", "mcpServers": []} -> {"sessionId": "sess_1"};
    }

    /// The result of loading or resuming a session.
    record AcpLoadedSession {
        /// Options of the session.
        configOptions: OptNull<List<AcpConfigOption>>,
        /// Modes of the session, if the agent has modes.
        modes: OptNull<Any>,
    }

    /// Opens a stored session. The agent sends its complete history as updates before the answer.
    command load_session(AcpLoadSessionParams {
        /// Id of the session.
        sessionId: Str,
        /// Absolute path of the working directory.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: List<AcpMcpServer>,
        /// Additional working directories.
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

    /// Opens a stored session without sending its history.
    command resume_session(AcpResumeSessionParams {
        /// Id of the session.
        sessionId: Str,
        /// Absolute path of the working directory.
        cwd: Str,
        /// MCP servers for this session.
        mcpServers: OptNull<List<AcpMcpServer>>,
        /// Additional working directories.
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

    /// A stored session.
    record AcpSessionInfo {
        /// Id of the session.
        sessionId: Str,
        /// Working directory of the session.
        cwd: Str,
        /// Display name.
        title: OptNull<Str>,
        /// Time of the last message, in ISO 8601.
        updatedAt: OptNull<Str>,
        /// Additional working directories.
        additionalDirectories: OptNull<List<Str>>,
        ;
        example {"sessionId": "sess_1", "cwd": "/home/user/project", "title": "Fix the parser"}
    }

    /// The stored sessions.
    record AcpSessionList {
        /// The sessions, newest first.
        sessions: List<AcpSessionInfo>,
        /// Cursor of the next page; absent for the last page.
        nextCursor: OptNull<Str>,
        ;
        example {"sessions": []}
    }

    /// Lists the stored sessions.
    command list_sessions(AcpListSessionsParams {
        /// Working directory of the listed sessions; all sessions if absent.
        cwd: OptNull<Str>,
        /// Cursor from the previous page.
        cursor: OptNull<Str>,
    }) -> AcpSessionList {
        wire: "session/list";
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"cwd": "/home/user/project"} -> {"sessions": []};
    }

    /// Closes a session: stops its current work and keeps it in storage.
    command close_session(AcpCloseSessionParams {
        /// Id of the session.
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

    /// Deletes a stored session. An open session is closed first.
    command delete_session(AcpDeleteSessionParams {
        /// Id of the session.
        sessionId: Str,
    }) -> Nothing {
        wire: "session/delete";
        answer: Done;
        run: Stops;
        lane: Immediate;
        example {"sessionId": "sess_1"};
    }
}
