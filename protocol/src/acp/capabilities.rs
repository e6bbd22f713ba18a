//! How a connection begins: who can do what.

use crate::dsl::protocol;
use crate::typed::{Any, Bool, Count, Int, List, Nothing, Object, Opt, OptNull, Str};

protocol! {
    /// Why a request failed.
    record AcpError {
        /// The code: those of JSON-RPC, -32800 where the request was cancelled, -32000 where somebody has to sign in,
        /// -32002 where there is no such session or file.
        code: Int,
        /// What went wrong, for people.
        message: Str,
        /// More about it.
        data: OptNull<Any>,
        ;
        example {"code": -32002, "message": "Resource not found: sess_2"}
    }

    /// A program and its version.
    record AcpImplementation {
        /// Its name for programs.
        name: Str,
        /// Its name for people.
        title: OptNull<Str>,
        /// Its version.
        version: Str,
        ;
        example {"name": "editor", "title": "An Editor", "version": "1.2.3"}
    }

    /// Which files of its user a client gives and takes.
    record AcpFileSystem {
        /// It reads text files, with what its user has not saved yet.
        readTextFile: OptNull<Bool>,
        /// It writes text files.
        writeTextFile: OptNull<Bool>,
    }

    /// What a client shows of a session.
    record AcpClientSession {
        /// It shows notices.
        notices: OptNull<Object>,
        /// It shows that a conversation is compacted.
        compaction: OptNull<Object>,
        /// Which config options it shows besides those that are selected from a list.
        configOptions: OptNull<Object>,
    }

    /// Which forms a client can show its user.
    record AcpElicitation {
        /// It shows forms.
        form: OptNull<Object>,
        /// It opens addresses.
        url: OptNull<Object>,
    }

    /// What a client can do.
    record AcpClientCapabilities {
        /// Its files.
        fs: OptNull<AcpFileSystem>,
        /// It runs commands in terminals.
        terminal: OptNull<Bool>,
        /// What it shows of a session.
        session: OptNull<AcpClientSession>,
        /// Which forms it shows.
        elicitation: OptNull<AcpElicitation>,
        /// How its user can sign in.
        auth: OptNull<Object>,
        ;
        example {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true, "elicitation": {"form": {}}}
    }

    /// What a prompt may hold besides text and links.
    record AcpPromptCapabilities {
        /// Images.
        image: Opt<Bool>,
        /// Recordings.
        audio: Opt<Bool>,
        /// Resources with their content.
        embeddedContext: Opt<Bool>,
    }

    /// How MCP servers may be reached besides standard input and output.
    record AcpMcpCapabilities {
        /// By streamable HTTP.
        http: Opt<Bool>,
        /// By HTTP with server-sent events.
        sse: Opt<Bool>,
    }

    /// What can be done with sessions.
    record AcpSessionCapabilities {
        /// They are listed.
        list: OptNull<Object>,
        /// They are deleted.
        delete: OptNull<Object>,
        /// They are resumed without their history.
        resume: OptNull<Object>,
        /// They are closed.
        close: OptNull<Object>,
        /// They work in several directories.
        additionalDirectories: OptNull<Object>,
    }

    /// What an agent can do.
    record AcpAgentCapabilities {
        /// It loads sessions that are kept.
        loadSession: Opt<Bool>,
        /// What prompts may hold.
        promptCapabilities: Opt<AcpPromptCapabilities>,
        /// How it reaches MCP servers.
        mcpCapabilities: Opt<AcpMcpCapabilities>,
        /// What can be done with sessions.
        sessionCapabilities: Opt<AcpSessionCapabilities>,
        /// Whether its user can sign out.
        auth: Opt<Object>,
        ;
        example {"loadSession": true, "promptCapabilities": {"image": true, "embeddedContext": true}}
    }

    /// A way to sign in.
    record AcpAuthMethod {
        /// Names it.
        id: Str,
        /// Its name for people.
        name: Str,
        /// What it is.
        description: OptNull<Str>,
        ;
        example {"id": "login", "name": "Sign in"}
    }

    /// Which version is spoken, and what the agent can do.
    record AcpInitialized {
        /// The version that is spoken: the client's where the agent speaks it, else the newest of the agent.
        protocolVersion: Count,
        /// What the agent can do.
        agentCapabilities: Opt<AcpAgentCapabilities>,
        /// Ways to sign in; empty where none is needed.
        authMethods: Opt<List<AcpAuthMethod>>,
        /// The agent.
        agentInfo: OptNull<AcpImplementation>,
        ;
        example {
            "protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": [],
            "agentInfo": {"name": "agentese", "version": "0.1.0"}
        }
    }

    /// Agrees on a version and tells what both sides can do. The first thing that a client sends.
    command initialize(AcpInitializeParams {
        /// The newest version that the client speaks.
        protocolVersion: Count,
        /// What the client can do; nothing where it is left out.
        clientCapabilities: OptNull<AcpClientCapabilities>,
        /// The client.
        clientInfo: OptNull<AcpImplementation>,
    }) -> AcpInitialized {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {"protocolVersion": 1, "clientCapabilities": {"terminal": true}} -> {
            "protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": []
        };
    }

    /// Signs in, by one of the ways that the agent has named.
    command authenticate(AcpAuthenticateParams {
        /// The id of the way.
        methodId: Str,
    }) -> Nothing {
        answer: Done;
        lane: Immediate;
        example {"methodId": "login"};
    }

    /// Signs out.
    command logout -> Nothing {
        answer: Done;
        lane: Immediate;
        example {};
    }

    /// Gives up a request that is not answered yet.
    command cancel_request(AcpCancelRequestParams {
        /// The id of the request, as it was sent.
        requestId: Any,
    }) -> Nothing {
        wire: "$/cancel_request";
        answer: Never;
        run: Stops;
        lane: Immediate;
        example {"requestId": 3};
    }
}
