//! What a client of omp does for the agent: tools and addresses of its own, pages that it opens, and long frames in pieces.
//!
//! Source: the types of RPC mode in the package of omp 18.2.3.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Bool, Count, List, Object, Opt, Str};
use crate::types::content::ToolOutput;

protocol! {
    /// The version of the transport that is spoken from here on.
    record ProtocolVersion [since "omp@18.2"] {
        /// Its number.
        protocolVersion: Count,
    }

    /// Chooses the version of the transport. In version 2 the agent sends frames above one MiB in pieces, where it shortens
    /// them in version 1.
    command negotiate_protocol(NegotiateProtocolParams {
        /// The number: `ready` lists those that there are.
        protocolVersion: Count,
    }) -> ProtocolVersion [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            UnsupportedProtocol "Unsupported RPC protocol version: {version}" => "the agent does not have that version";
        }
        example {"protocolVersion": 2} -> {"protocolVersion": 2};
    }

    /// A piece of a frame that is too long for one line. Clients put the pieces together and show the frame alone.
    event rpc_chunk(RpcChunk {
        /// What all pieces of the frame have in common.
        chunkId: Str,
        /// The place of this piece, from 0.
        index: Count,
        /// How many there are.
        count: Count,
        /// How long the whole frame is, in bytes.
        byteLength: Count,
        /// The bytes of the piece, in base64.
        data: Str,
    }) [since "omp@18.2"] {
        example {
            "type": "rpc_chunk", "chunkId": "rpc-1", "index": 0, "count": 5, "byteLength": 1200000, "data": "eyJ0eXBlIjoi"
        };
    }

    /// A frame was too long even for pieces; this stands in its place.
    event rpc_frame_error(RpcFrameError {
        /// What the frame was.
        originalType: Opt<Str>,
        /// What went wrong.
        error: Str,
    }) [since "omp@18.2"] {
        example {"type": "rpc_frame_error", "originalType": "message_end", "error": "RPC frame exceeded the transport limit"};
    }

    /// When the model is told of a tool.
    strings ToolLoadMode(open) [since "omp@18.2"] {
        /// Always.
        "essential",
        /// When it looks for one.
        "discoverable",
    }

    /// A tool that the client carries out.
    record ClientTool [since "omp@18.2"] {
        /// Its name, as the model has it.
        name: Str,
        /// Its name for people.
        label: Opt<Str>,
        /// What it does, for the model.
        description: Str,
        /// The JSON Schema of its arguments.
        parameters: Object,
        /// Whether it is left out of lists.
        hidden: Opt<Bool>,
        /// When the model is told of it; `discoverable` where it is missing.
        loadMode: Opt<ToolLoadMode>,
        /// Whether it can read the instructions of skills.
        readsSkillUris: Opt<Bool>,
    }

    /// The tools of the client that the agent has now.
    record HostToolNames [since "omp@18.2"] {
        /// Their names.
        toolNames: List<Str>,
    }

    /// Sets the tools that the client carries out, in place of those before. A call of one comes as `host_tool_call`.
    command set_host_tools(SetHostToolsParams {
        /// The tools.
        tools: List<ClientTool>,
    }) -> HostToolNames [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            HostToolRefused "Host tool \"{name}\" {reason}" => "a tool has no name or no description, or takes the name of another one";
        }
        example {"tools": [{
            "name": "echo", "description": "Says a text back.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}
        }]} -> {"toolNames": ["echo"]};
    }

    /// What a tool of the client gave.
    record HostToolResult [since "omp@18.2"] {
        /// The result, for the model.
        result: ToolOutput,
        /// Whether the tool failed: the model is told the text of the result as an error.
        isError: Opt<Bool>,
        ;
        example {"result": {"content": [{"type": "text", "text": "pong"}]}}
    }

    /// What a tool of the client has to show before it is done.
    record HostToolUpdate [since "omp@18.2"] {
        /// The result so far.
        partialResult: ToolOutput,
    }

    /// Asks the client to carry out one of its tools.
    dialog host_tool_call(HostToolCall {
        /// The id of the call, as in the model's message.
        toolCallId: Str,
        /// The tool.
        toolName: Str,
        /// The arguments.
        arguments: Object,
    }) -> HostToolResult [since "omp@18.2"] {
        frame: "host_tool_call" => "host_tool_result" after "host_tool_update"(HostToolUpdate);
        fallback {"result": {"content": [{"type": "text", "text": "The client does not carry out this tool."}]}, "isError": true};
        example {"toolCallId": "call_1", "toolName": "echo", "arguments": {"text": "ping"}};
    }

    /// Takes the call of a tool back: the run was stopped.
    dialog host_tool_cancel(HostToolCancel {
        /// The id of the call's frame.
        targetId: Str,
    }) [since "omp@18.2"] {
        frame: "host_tool_cancel";
        withdraws: "targetId";
        example {"targetId": "15d74400148e25a5"};
    }

    /// Addresses that the client reads and writes for the agent's tools.
    record HostUriScheme [since "omp@18.2"] {
        /// The scheme, as in `notes` of `notes://today`.
        scheme: Str,
        /// What is there.
        description: Opt<Str>,
        /// Whether tools may write.
        writable: Opt<Bool>,
        /// Whether the same address gives the same content for ever.
        immutable: Opt<Bool>,
    }

    /// The schemes of the client that the agent has now.
    record HostUriSchemes [since "omp@18.2"] {
        /// Them, in small letters.
        schemes: List<Str>,
    }

    /// Sets the schemes of addresses that the client reads and writes, in place of those before. What a tool wants comes as
    /// `host_uri_request`.
    command set_host_uri_schemes(SetHostUriSchemesParams {
        /// The schemes.
        schemes: List<HostUriScheme>,
    }) -> HostUriSchemes [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            HostSchemeRefused "Host URI scheme {reason}" => "a scheme is empty, has characters that none may have, or is the agent's own";
        }
        example {"schemes": [{"scheme": "notes", "description": "Notes of the team", "writable": true}]} -> {"schemes": ["notes"]};
    }

    /// What is done with an address.
    strings HostUriOperation(open) [since "omp@18.2"] {
        /// It is read.
        "read",
        /// It is written.
        "write",
    }

    /// What the client read, or how writing went.
    record HostUriResult [since "omp@18.2"] {
        /// What is there; not for writing.
        content: Opt<Str>,
        /// What kind of text it is; `text/plain` where it is missing.
        contentType: Opt<Str>,
        /// What the model is told beside it.
        notes: Opt<List<Str>>,
        /// Whether the address gives the same content for ever.
        immutable: Opt<Bool>,
        /// Whether it failed.
        isError: Opt<Bool>,
        /// What went wrong.
        error: Opt<Str>,
        ;
        example {"content": "Water the plants.", "contentType": "text/plain"}
    }

    /// Asks the client to read or write one of its addresses.
    dialog host_uri_request(HostUriRequest {
        /// Which of the two.
        operation: HostUriOperation,
        /// The address.
        url: Str,
        /// What is to be written.
        content: Opt<Str>,
    }) -> HostUriResult [since "omp@18.2"] {
        frame: "host_uri_request" => "host_uri_result";
        fallback {"isError": true, "error": "The client does not have this address."};
        example {"operation": "read", "url": "notes://today"};
    }

    /// Takes a request for an address back: the run was stopped.
    dialog host_uri_cancel(HostUriCancel {
        /// The id of the request's frame.
        targetId: Str,
    }) [since "omp@18.2"] {
        frame: "host_uri_cancel";
        withdraws: "targetId";
        example {"targetId": "15d74400148e25a6"};
    }

    /// Asks the client to open a page, for a login. No answer is expected.
    dialog open_url(OpenUrlNotice {
        /// The page.
        url: Str,
        /// A short address that leads there, for people who copy it.
        launchUrl: Opt<Str>,
        /// What the person has to do there.
        instructions: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"url": "https://example.com/login", "instructions": "Log in and come back."};
    }

    /// A provider at which one can log in.
    record LoginProvider [since "omp@18.2"] {
        /// Its id.
        id: Str,
        /// Its name for people.
        name: Str,
        /// Whether a login is possible here.
        available: Bool,
        /// Whether somebody is logged in.
        authenticated: Bool,
    }

    /// The providers at which one can log in.
    record LoginProviders [since "omp@18.2"] {
        /// Them.
        providers: List<LoginProvider>,
    }

    /// Lists the providers at which one can log in.
    command get_login_providers() -> LoginProviders [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"providers": [{"id": "anthropic", "name": "Anthropic", "available": true, "authenticated": false}]};
    }

    /// The provider at which somebody is logged in now.
    record LoggedIn [since "omp@18.2"] {
        /// Its id.
        providerId: Str,
    }

    /// Logs in at a provider. The page comes as `open_url`; answered when the person is done.
    command login(LoginParams {
        /// The provider's id.
        providerId: Str,
    }) -> LoggedIn [since "omp@18.2"] {
        answer: Done;
        lane: Session;
        timeout: Never;
        example {"providerId": "anthropic"} -> {"providerId": "anthropic"};
    }
}
