//! Services of a client for omp: its own tools and URI schemes, pages to open, and long frames in pieces.
//!
//! Source: the types of RPC mode in the package of omp 18.2.3.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Bool, Count, List, Object, Opt, Str};
use crate::types::content::ToolOutput;

protocol! {
    /// The version of the transport that applies from here on.
    record ProtocolVersion [since "omp@18.2"] {
        /// Number of the version.
        protocolVersion: Count,
    }

    /// Selects the version of the transport. In version 2 the agent sends frames above one MiB in pieces; in version 1
    /// it shortens them.
    command negotiate_protocol(NegotiateProtocolParams {
        /// Number of the version; `ready` lists the supported versions.
        protocolVersion: Count,
    }) -> ProtocolVersion [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            UnsupportedProtocol "Unsupported RPC protocol version: {version}" => "the agent does not support that version";
        }
        example {"protocolVersion": 2} -> {"protocolVersion": 2};
    }

    /// A piece of a frame that is too long for one line. Clients join the pieces and report the complete frame only.
    event rpc_chunk(RpcChunk {
        /// Id shared by all pieces of the frame.
        chunkId: Str,
        /// Index of this piece, from 0.
        index: Count,
        /// Number of pieces.
        count: Count,
        /// Length of the complete frame in bytes.
        byteLength: Count,
        /// Bytes of the piece in base64.
        data: Str,
    }) [since "omp@18.2"] {
        example {
            "type": "rpc_chunk", "chunkId": "rpc-1", "index": 0, "count": 5, "byteLength": 1200000, "data": "eyJ0eXBlIjoi"
        };
    }

    /// A replacement for a frame that was too long even in pieces.
    event rpc_frame_error(RpcFrameError {
        /// Type of the original frame.
        originalType: Opt<Str>,
        /// Error message about the original frame.
        error: Str,
    }) [since "omp@18.2"] {
        example {"type": "rpc_frame_error", "originalType": "message_end", "error": "RPC frame exceeded the transport limit"};
    }

    /// The time at which the model receives a tool.
    strings ToolLoadMode(open) [since "omp@18.2"] {
        /// The model receives the tool in every request.
        "essential",
        /// The model receives the tool when it searches for one.
        "discoverable",
    }

    /// A tool that the client executes.
    record ClientTool [since "omp@18.2"] {
        /// Name of the tool for the model.
        name: Str,
        /// Display name.
        label: Opt<Str>,
        /// Description for the model.
        description: Str,
        /// JSON Schema of the arguments.
        parameters: Object,
        /// `true` to omit the tool from lists.
        hidden: Opt<Bool>,
        /// Time at which the model receives the tool; `discoverable` if absent.
        loadMode: Opt<ToolLoadMode>,
        /// `true` if the tool can read the instructions of skills.
        readsSkillUris: Opt<Bool>,
    }

    /// The current tools of the client.
    record HostToolNames [since "omp@18.2"] {
        /// Names of the tools.
        toolNames: List<Str>,
    }

    /// Sets the tools that the client executes; they replace earlier ones. The agent calls a tool with
    /// `host_tool_call`.
    command set_host_tools(SetHostToolsParams {
        /// New tools of the client.
        tools: List<ClientTool>,
    }) -> HostToolNames [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            HostToolRefused "Host tool \"{name}\" {reason}" => "a tool has no name or description, or has the name of another tool";
        }
        example {"tools": [{
            "name": "echo", "description": "Says a text back.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}
        }]} -> {"toolNames": ["echo"]};
    }

    /// The result of a client's tool.
    record HostToolResult [since "omp@18.2"] {
        /// Result for the model.
        result: ToolOutput,
        /// `true` if the tool failed: the model receives the text of the result as an error.
        isError: Opt<Bool>,
        ;
        example {"result": {"content": [{"type": "text", "text": "pong"}]}}
    }

    /// The progress of a client's tool.
    record HostToolUpdate [since "omp@18.2"] {
        /// The result so far.
        partialResult: ToolOutput,
    }

    /// Requests the execution of one of the client's tools.
    dialog host_tool_call(HostToolCall {
        /// Id of the tool call, as in the model's message.
        toolCallId: Str,
        /// Name of the tool.
        toolName: Str,
        /// Arguments of the tool call.
        arguments: Object,
    }) -> HostToolResult [since "omp@18.2"] {
        frame: "host_tool_call" => "host_tool_result" after "host_tool_update"(HostToolUpdate);
        fallback {"result": {"content": [{"type": "text", "text": "The client does not carry out this tool."}]}, "isError": true};
        example {"toolCallId": "call_1", "toolName": "echo", "arguments": {"text": "ping"}};
    }

    /// Cancels the call of a client's tool, because the run was aborted.
    dialog host_tool_cancel(HostToolCancel {
        /// Id of the call's frame.
        targetId: Str,
    }) [since "omp@18.2"] {
        frame: "host_tool_cancel";
        withdraws: "targetId";
        example {"targetId": "15d74400148e25a5"};
    }

    /// A URI scheme that the client reads and writes for the agent's tools.
    record HostUriScheme [since "omp@18.2"] {
        /// The scheme, as in `notes` of `notes://today`.
        scheme: Str,
        /// Description of the content.
        description: Opt<Str>,
        /// `true` if tools may write.
        writable: Opt<Bool>,
        /// `true` if the content of an address never changes.
        immutable: Opt<Bool>,
    }

    /// The current URI schemes of the client.
    record HostUriSchemes [since "omp@18.2"] {
        /// The schemes in lower case.
        schemes: List<Str>,
    }

    /// Sets the URI schemes that the client reads and writes; they replace earlier ones. Tools access them with
    /// `host_uri_request`.
    command set_host_uri_schemes(SetHostUriSchemesParams {
        /// New URI schemes of the client.
        schemes: List<HostUriScheme>,
    }) -> HostUriSchemes [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        errors {
            HostSchemeRefused "Host URI scheme {reason}" => "a scheme is empty, contains invalid characters, or belongs to the agent";
        }
        example {"schemes": [{"scheme": "notes", "description": "Notes of the team", "writable": true}]} -> {"schemes": ["notes"]};
    }

    /// The operation on an address.
    strings HostUriOperation(open) [since "omp@18.2"] {
        /// Reading an address.
        "read",
        /// Writing to an address.
        "write",
    }

    /// The content that the client read, or the outcome of writing.
    record HostUriResult [since "omp@18.2"] {
        /// Content of the address; absent for writing.
        content: Opt<Str>,
        /// MIME type of the content; `text/plain` if absent.
        contentType: Opt<Str>,
        /// Additional notes for the model.
        notes: Opt<List<Str>>,
        /// `true` if the content of the address never changes.
        immutable: Opt<Bool>,
        /// `true` if the operation failed.
        isError: Opt<Bool>,
        /// Error message of the operation.
        error: Opt<Str>,
        ;
        example {"content": "Water the plants.", "contentType": "text/plain"}
    }

    /// Requests an operation on one of the client's addresses: reading or writing.
    dialog host_uri_request(HostUriRequest {
        /// Operation on the address: reading or writing.
        operation: HostUriOperation,
        /// Address that the operation concerns.
        url: Str,
        /// Content to write; absent for reading.
        content: Opt<Str>,
    }) -> HostUriResult [since "omp@18.2"] {
        frame: "host_uri_request" => "host_uri_result";
        fallback {"isError": true, "error": "The client does not have this address."};
        example {"operation": "read", "url": "notes://today"};
    }

    /// Cancels a request for an address, because the run was aborted.
    dialog host_uri_cancel(HostUriCancel {
        /// Id of the request's frame.
        targetId: Str,
    }) [since "omp@18.2"] {
        frame: "host_uri_cancel";
        withdraws: "targetId";
        example {"targetId": "15d74400148e25a6"};
    }

    /// Requests the client to open a page, for a login. No answer is expected.
    dialog open_url(OpenUrlNotice {
        /// Address of the page.
        url: Str,
        /// Short address that leads to the page, for copying.
        launchUrl: Opt<Str>,
        /// Instructions for the user.
        instructions: Opt<Str>,
    }) [since "omp@18.2"] {
        example {"url": "https://example.com/login", "instructions": "Log in and come back."};
    }

    /// A provider with a login.
    record LoginProvider [since "omp@18.2"] {
        /// Id of the provider.
        id: Str,
        /// Display name.
        name: Str,
        /// `true` if a login is possible here.
        available: Bool,
        /// `true` if the user is logged in.
        authenticated: Bool,
    }

    /// The providers with a login.
    record LoginProviders [since "omp@18.2"] {
        /// Providers with a login.
        providers: List<LoginProvider>,
    }

    /// Lists the providers with a login.
    command get_login_providers() -> LoginProviders [since "omp@18.2"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"providers": [{"id": "anthropic", "name": "Anthropic", "available": true, "authenticated": false}]};
    }

    /// The provider of the completed login.
    record LoginResult [since "omp@18.2"] {
        /// Id of the provider.
        providerId: Str,
    }

    /// Logs in at a provider. The agent sends the page as `open_url` and answers when the login is complete.
    command login(LoginParams {
        /// Id of the provider.
        providerId: Str,
    }) -> LoginResult [since "omp@18.2"] {
        answer: Done;
        lane: Session;
        timeout: Never;
        example {"providerId": "anthropic"} -> {"providerId": "anthropic"};
    }
}
