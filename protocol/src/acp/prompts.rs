//! A turn: from a prompt to its stop reason.

use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Count, List, Nothing, OptNull, Str};

protocol! {
    /// The stop reason of a turn.
    strings AcpStopReason(open) {
        /// The model completed its answer.
        "end_turn",
        /// The answer reached the limit of its output.
        "max_tokens",
        /// The turn reached the maximum number of requests to the model.
        "max_turn_requests",
        /// The model refused to answer.
        "refusal",
        /// The client cancelled the turn.
        "cancelled",
    }

    /// Number of tokens by their kind, as far as the agent counts them.
    record AcpTokenUsage {
        /// Number of all tokens.
        totalTokens: OptNull<Count>,
        /// Number of input tokens.
        inputTokens: OptNull<Count>,
        /// Number of output tokens.
        outputTokens: OptNull<Count>,
        /// Number of tokens of reasoning.
        thoughtTokens: OptNull<Count>,
        /// Number of input tokens that were read from a cache.
        cachedReadTokens: OptNull<Count>,
        /// Number of input tokens that were written to a cache.
        cachedWriteTokens: OptNull<Count>,
        ;
        example {"totalTokens": 1320, "inputTokens": 300, "outputTokens": 20, "cachedReadTokens": 1000}
    }

    /// The end of a turn.
    record AcpPromptEnd {
        /// Stop reason of the turn.
        stopReason: AcpStopReason,
        /// Tokens of the turn. Not in the stable part of the schema, but sent by most agents.
        usage: OptNull<AcpTokenUsage>,
        ;
        example {"stopReason": "end_turn"}
    }

    /// Sends a prompt. The agent answers at the end of the turn.
    command prompt(AcpPromptParams {
        /// Id of the session.
        sessionId: Str,
        /// Content of the prompt.
        prompt: List<AcpContentBlock>,
    }) -> AcpPromptEnd {
        wire: "session/prompt";
        answer: Done;
        run: Starts;
        lane: Immediate;
        timeout: Never;
        errors {
            (-32002) ResourceNotFound "Resource not found: {uri}" => "no session has that id";
        }
        example {"sessionId": "sess_1", "prompt": [{"type": "text", "text": "Hello"}]} -> {"stopReason": "end_turn"};
    }

    /// Cancels the current turn of a session. The agent answers the open prompt with `cancelled`.
    command cancel(AcpCancelParams {
        /// Id of the session.
        sessionId: Str,
    }) -> Nothing {
        wire: "session/cancel";
        answer: Never;
        run: Stops;
        lane: Immediate;
        example {"sessionId": "sess_1"};
    }
}
