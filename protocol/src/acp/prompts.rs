//! A turn: from a prompt to its stop reason.

use super::content::AcpContentBlock;
use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{List, Nothing, Str};

protocol! {
    /// Why a turn ended.
    strings AcpStopReason(open) {
        /// The model has said what it had to say.
        "end_turn",
        /// The answer is as long as it may be.
        "max_tokens",
        /// The model was asked as often as it may be in one turn.
        "max_turn_requests",
        /// The model refused to answer.
        "refusal",
        /// The client has cancelled the turn.
        "cancelled",
    }

    /// The end of a turn.
    record AcpPromptEnd {
        /// Why it ended.
        stopReason: AcpStopReason,
        ;
        example {"stopReason": "end_turn"}
    }

    /// Says something, and waits until the agent is done with it: answered at the end of the turn.
    command prompt(AcpPromptParams {
        /// The session.
        sessionId: Str,
        /// What is said.
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

    /// Stops what goes on in a session. The prompt that is open is answered with `cancelled`.
    command cancel(AcpCancelParams {
        /// The session.
        sessionId: Str,
    }) -> Nothing {
        wire: "session/cancel";
        answer: Never;
        run: Stops;
        lane: Immediate;
        example {"sessionId": "sess_1"};
    }
}
