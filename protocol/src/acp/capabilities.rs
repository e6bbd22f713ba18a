//! The start of a connection: the capabilities of both sides.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nothing, Object, Opt, OptNull, Str};

protocol! {
    /// The error of a failed request.
    record AcpError {
        /// Error code: a code of JSON-RPC, -32800 for a cancelled request, -32000 if authentication is required, or
        /// -32002 for a missing session or file.
        code: Int,
        /// Error message for the user.
        message: Str,
        /// Additional data about the error.
        data: OptNull<Any>,
        ;
        example {"code": -32002, "message": "Resource not found: sess_2"}
    }

    /// The name and version of a program.
    record AcpImplementation {
        /// Name of the program.
        name: Str,
        /// Display name.
        title: OptNull<Str>,
        /// Version of the program.
        version: Str,
        ;
        example {"name": "editor", "title": "An Editor", "version": "1.2.3"}
    }

    /// The file operations of a client.
    record AcpFileSystem {
        /// `true` if the client reads text files, including unsaved changes.
        readTextFile: OptNull<Bool>,
        /// `true` if the client writes text files.
        writeTextFile: OptNull<Bool>,
    }

    /// The session content that a client can show.
    record AcpClientSession {
        /// Present if the client shows notices.
        notices: OptNull<Object>,
        /// Present if the client shows compactions.
        compaction: OptNull<Object>,
        /// Kinds of config options that the client shows in addition to lists of values.
        configOptions: OptNull<Object>,
    }

    /// The forms that a client can show to its user.
    record AcpElicitation {
        /// Present if the client shows forms.
        form: OptNull<Object>,
        /// Present if the client opens addresses.
        url: OptNull<Object>,
    }

    /// The capabilities of a client.
    record AcpClientCapabilities {
        /// File operations of the client.
        fs: OptNull<AcpFileSystem>,
        /// `true` if the client runs commands in terminals.
        terminal: OptNull<Bool>,
        /// Session content that the client can show.
        session: OptNull<AcpClientSession>,
        /// Forms that the client can show.
        elicitation: OptNull<AcpElicitation>,
        /// Methods of authentication for the user.
        auth: OptNull<Object>,
        ;
        example {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true, "elicitation": {"form": {}}}
    }

    /// The content of a prompt that an agent accepts in addition to text and links.
    record AcpPromptCapabilities {
        /// `true` if the agent accepts images.
        image: Opt<Bool>,
        /// `true` if the agent accepts audio.
        audio: Opt<Bool>,
        /// `true` if the agent accepts resources with their content.
        embeddedContext: Opt<Bool>,
    }

    /// The transports for MCP servers that an agent supports in addition to stdio.
    record AcpMcpCapabilities {
        /// `true` if the agent supports streamable HTTP.
        http: Opt<Bool>,
        /// `true` if the agent supports HTTP with server-sent events.
        sse: Opt<Bool>,
    }

    /// The session operations of an agent.
    record AcpSessionCapabilities {
        /// Present if the agent lists sessions.
        list: OptNull<Object>,
        /// Present if the agent deletes sessions.
        delete: OptNull<Object>,
        /// Present if the agent resumes sessions without their history.
        resume: OptNull<Object>,
        /// Present if the agent closes sessions.
        close: OptNull<Object>,
        /// Present if a session may have several directories.
        additionalDirectories: OptNull<Object>,
    }

    /// The capabilities of an agent.
    record AcpAgentCapabilities {
        /// `true` if the agent loads stored sessions.
        loadSession: Opt<Bool>,
        /// Content that the agent accepts in prompts.
        promptCapabilities: Opt<AcpPromptCapabilities>,
        /// Transports for MCP servers.
        mcpCapabilities: Opt<AcpMcpCapabilities>,
        /// Session operations of the agent.
        sessionCapabilities: Opt<AcpSessionCapabilities>,
        /// Authentication capabilities: logout of the user.
        auth: Opt<Object>,
        ;
        example {"loadSession": true, "promptCapabilities": {"image": true, "embeddedContext": true}}
    }

    /// A method of authentication.
    record AcpAuthMethod {
        /// Id of the method.
        id: Str,
        /// Display name.
        name: Str,
        /// Description of the method.
        description: OptNull<Str>,
        ;
        example {"id": "login", "name": "Sign in"}
    }

    /// The version of the protocol and the capabilities of the agent.
    record AcpInitializeResult {
        /// Version of the protocol: the client's version if the agent supports it, otherwise the agent's newest
        /// version.
        protocolVersion: Count,
        /// Capabilities of the agent.
        agentCapabilities: Opt<AcpAgentCapabilities>,
        /// Methods of authentication; empty if none is required.
        authMethods: Opt<List<AcpAuthMethod>>,
        /// Name and version of the agent.
        agentInfo: OptNull<AcpImplementation>,
        ;
        example {
            "protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": [],
            "agentInfo": {"name": "agentese", "version": "0.1.0"}
        }
    }

    /// Negotiates the version and exchanges the capabilities of both sides. The first request of a client.
    command initialize(AcpInitializeParams {
        /// Newest version that the client supports.
        protocolVersion: Count,
        /// Capabilities of the client; none if absent.
        clientCapabilities: OptNull<AcpClientCapabilities>,
        /// Name and version of the client.
        clientInfo: OptNull<AcpImplementation>,
    }) -> AcpInitializeResult {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"protocolVersion": 1, "clientCapabilities": {"terminal": true}} -> {
            "protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": []
        };
    }

    /// Authenticates the user, by a method that the agent has offered.
    command authenticate(AcpAuthenticateParams {
        /// Id of the method.
        methodId: Str,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"methodId": "login"};
    }

    /// Logs the user out.
    command logout -> Nothing {
        answer: Done;
        lane: Immediate;
        example {};
    }

    /// Cancels an unanswered request.
    command cancel_request(AcpCancelRequestParams {
        /// Id of the request.
        requestId: Any,
    }) -> Nothing {
        wire: "$/cancel_request";
        answer: Never;
        run: Stops;
        lane: Immediate;
        example {"requestId": 3};
    }
}
