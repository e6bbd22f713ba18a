//! Messages, their parts, and the input of a run.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Any, List, Nothing, Object, Opt, OptNull, Str};

protocol! {
    /// A text in a message.
    record AguiTextPart(type = "text") {
        /// Content of the text part.
        text: Str,
        ;
        example {"type": "text", "text": "What is this?"}
    }

    /// Binary data within the message.
    record AguiData(type = "data") {
        /// The bytes in base64.
        value: Str,
        /// MIME type of the content.
        mimeType: Str,
        ;
        example {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// Binary data at an address.
    record AguiUrl(type = "url") {
        /// Address of the data.
        value: Str,
        /// MIME type of the content.
        mimeType: Opt<Str>,
        ;
        example {"type": "url", "value": "https://example.org/picture.png"}
    }

    /// The location of binary data.
    union AguiSource(type, open) { AguiData, AguiUrl }

    /// An image in a message.
    record AguiImagePart(type = "image") {
        /// Location of the image's data.
        source: AguiSource,
        ;
        example {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    }

    /// A part of a message.
    union AguiPart(type, open) { AguiTextPart, AguiImagePart }

    /// The content of a message.
    choice AguiContent {
        Text(Str),
        Parts(List<AguiPart>),
    }

    /// A message of the developer to the model.
    record AguiDeveloperMessage(role = "developer") {
        /// Id of the message.
        id: Str,
        /// Content of the message.
        content: Str,
        ;
        example {"id": "m1", "role": "developer", "content": "Answer in one line."}
    }

    /// A message of the system to the model.
    record AguiSystemMessage(role = "system") {
        /// Id of the message.
        id: Str,
        /// Content of the message.
        content: Str,
        ;
        example {"id": "m1", "role": "system", "content": "Answer in one line."}
    }

    /// A message of the user.
    record AguiUserMessage(role = "user") {
        /// Id of the message.
        id: Str,
        /// Content of the message.
        content: AguiContent,
        ;
        example {"id": "m2", "role": "user", "content": "What is in this folder?"}
    }

    /// The tool and the arguments of a call.
    record AguiFunction {
        /// Name of the tool.
        name: Str,
        /// The arguments as JSON text.
        arguments: Str,
        ;
        example {"name": "bash", "arguments": "{\"command\":\"ls\"}"}
    }

    /// A tool call.
    record AguiCall(type = "function") {
        /// Id of the tool call.
        id: Str,
        /// Tool and arguments of the call.
        function: AguiFunction,
        ;
        example {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}
    }

    /// A message of the model.
    record AguiAssistantMessage(role = "assistant") {
        /// Id of the message.
        id: Str,
        /// Content of the message.
        content: Opt<Str>,
        /// Tool calls of the message.
        toolCalls: Opt<List<AguiCall>>,
        ;
        example {"id": "m3", "role": "assistant", "content": "There are two files."}
    }

    /// The result of a tool.
    record AguiToolMessage(role = "tool") {
        /// Id of the message.
        id: Str,
        /// Id of the tool call.
        toolCallId: Str,
        /// Result of the tool.
        content: AguiContent,
        /// Error message of the tool.
        error: Opt<Str>,
        ;
        example {"id": "m4", "role": "tool", "toolCallId": "call_1", "content": "a.txt\nb.txt\n"}
    }

    /// A reasoning message of the model.
    record AguiReasoningMessage(role = "reasoning") {
        /// Id of the message.
        id: Str,
        /// Text of the reasoning.
        content: Str,
        ;
        example {"id": "m5", "role": "reasoning", "content": "The folder has to be read."}
    }

    /// A message of the conversation.
    union AguiMessage(role, open) {
        AguiDeveloperMessage, AguiSystemMessage, AguiUserMessage, AguiAssistantMessage, AguiToolMessage,
        AguiReasoningMessage
    }

    /// A tool of the client.
    record AguiTool {
        /// Name of the tool.
        name: Str,
        /// Description of the tool.
        description: Str,
        /// JSON Schema of the parameters.
        parameters: Opt<Any>,
        ;
        example {"name": "show_map", "description": "Shows a map."}
    }

    /// A piece of context from the client for the agent.
    record AguiContext {
        /// Description of the context.
        description: Str,
        /// Value of the context.
        value: Str,
        ;
        example {"description": "the page that is open", "value": "Invoices"}
    }

    /// The status of an interrupt's answer.
    strings AguiResumeStatus(open) {
        /// The interrupt is answered.
        "resolved",
        /// The interrupt has no answer.
        "cancelled",
    }

    /// The answer to an interrupt.
    record AguiResume {
        /// Id of the interrupt.
        interruptId: Str,
        /// Status of the answer.
        status: AguiResumeStatus,
        /// Answer to the interrupt.
        payload: Opt<Any>,
        ;
        example {"interruptId": "q1", "status": "resolved", "payload": true}
    }

    /// Runs the agent with the last message as input, or continues a run that waits for answers.
    command run_agent(AguiRunInput {
        /// Id of the conversation.
        threadId: Str,
        /// Id of the run.
        runId: Str,
        /// Id of the run that this run continues.
        parentRunId: Opt<Str>,
        /// Conversation of the client. The last message is the input.
        messages: List<AguiMessage>,
        /// Tools of the client.
        tools: Opt<List<AguiTool>>,
        /// Context from the client.
        context: Opt<List<AguiContext>>,
        /// State shared by client and agent.
        state: OptNull<Any>,
        /// Further properties for the agent.
        forwardedProps: Opt<Any>,
        /// Answers to the interrupts of the previous run.
        resume: Opt<List<AguiResume>>,
    }) -> Nothing {
        answer: Accepted;
        run: Starts;
        lane: Immediate;
        timeout: Never;
        example {
            "threadId": "t1", "runId": "r1",
            "messages": [{"id": "m1", "role": "user", "content": "What is in this folder?"}]
        };
    }

    /// A question that a run must have answered before it continues.
    record AguiInterrupt {
        /// Id of the interrupt.
        id: Str,
        /// Kind of the question.
        reason: Str,
        /// Text of the question.
        message: Opt<Str>,
        /// JSON Schema of the answer.
        responseSchema: Opt<Object>,
        ;
        example {"id": "q1", "reason": "confirm", "message": "Delete it?", "responseSchema": {"type": "boolean"}}
    }
}
