//! Messages, their parts, and what a run is asked with.

use crate::dsl::protocol;
use crate::model::Timeout::Never;
use crate::typed::{Any, List, Nothing, Object, Opt, OptNull, Str};

protocol! {
    /// Text of a message.
    record AguiTextPart(type = "text") {
        /// The text.
        text: Str,
        ;
        example {"type": "text", "text": "What is this?"}
    }

    /// Bytes that stand in the message.
    record AguiData(type = "data") {
        /// The bytes in base64.
        value: Str,
        /// The MIME type.
        mimeType: Str,
        ;
        example {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
    }

    /// Bytes that stand at an address.
    record AguiUrl(type = "url") {
        /// The address.
        value: Str,
        /// The MIME type.
        mimeType: Opt<Str>,
        ;
        example {"type": "url", "value": "https://example.org/picture.png"}
    }

    /// Where bytes are.
    union AguiSource(type, open) { AguiData, AguiUrl }

    /// An image.
    record AguiImagePart(type = "image") {
        /// Where its bytes are.
        source: AguiSource,
        ;
        example {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    }

    /// A part of a message.
    union AguiPart(type, open) { AguiTextPart, AguiImagePart }

    /// What a message says.
    choice AguiContent {
        Text(Str),
        Parts(List<AguiPart>),
    }

    /// What the developer tells the model.
    record AguiDeveloperMessage(role = "developer") {
        /// Names the message.
        id: Str,
        /// What is said.
        content: Str,
        ;
        example {"id": "m1", "role": "developer", "content": "Answer in one line."}
    }

    /// What the system tells the model.
    record AguiSystemMessage(role = "system") {
        /// Names the message.
        id: Str,
        /// What is said.
        content: Str,
        ;
        example {"id": "m1", "role": "system", "content": "Answer in one line."}
    }

    /// What the user says.
    record AguiUserMessage(role = "user") {
        /// Names the message.
        id: Str,
        /// What is said.
        content: AguiContent,
        ;
        example {"id": "m2", "role": "user", "content": "What is in this folder?"}
    }

    /// The name of a call's tool, and its arguments.
    record AguiFunction {
        /// The tool's name.
        name: Str,
        /// The arguments as JSON text.
        arguments: Str,
        ;
        example {"name": "bash", "arguments": "{\"command\":\"ls\"}"}
    }

    /// A tool call.
    record AguiCall(type = "function") {
        /// Names the call.
        id: Str,
        /// What is called.
        function: AguiFunction,
        ;
        example {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}
    }

    /// What the model says.
    record AguiAssistantMessage(role = "assistant") {
        /// Names the message.
        id: Str,
        /// What is said.
        content: Opt<Str>,
        /// The calls that it makes.
        toolCalls: Opt<List<AguiCall>>,
        ;
        example {"id": "m3", "role": "assistant", "content": "There are two files."}
    }

    /// What a tool has given.
    record AguiToolMessage(role = "tool") {
        /// Names the message.
        id: Str,
        /// The call.
        toolCallId: Str,
        /// What came of it.
        content: AguiContent,
        /// Why it failed.
        error: Opt<Str>,
        ;
        example {"id": "m4", "role": "tool", "toolCallId": "call_1", "content": "a.txt\nb.txt\n"}
    }

    /// What the model thinks.
    record AguiReasoningMessage(role = "reasoning") {
        /// Names the message.
        id: Str,
        /// What is thought.
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
        /// Its name.
        name: Str,
        /// What it does.
        description: Str,
        /// The JSON Schema of its parameters.
        parameters: Opt<Any>,
        ;
        example {"name": "show_map", "description": "Shows a map."}
    }

    /// Something that the client wants the agent to know.
    record AguiContext {
        /// What it is.
        description: Str,
        /// It.
        value: Str,
        ;
        example {"description": "the page that is open", "value": "Invoices"}
    }

    /// Whether a question is answered.
    strings AguiResumeStatus(open) {
        /// It is.
        "resolved",
        /// Nobody answers it.
        "cancelled",
    }

    /// The answer to an interrupt.
    record AguiResume {
        /// The interrupt.
        interruptId: Str,
        /// Whether it is answered.
        status: AguiResumeStatus,
        /// The answer.
        payload: Opt<Any>,
        ;
        example {"interruptId": "q1", "status": "resolved", "payload": true}
    }

    /// Runs the agent with the words of the last message, or goes on with a run that waits for answers.
    command run_agent(AguiRunInput {
        /// The conversation.
        threadId: Str,
        /// Names the run.
        runId: Str,
        /// The run that it goes on from.
        parentRunId: Opt<Str>,
        /// The conversation as the client has it. The last message is what is said.
        messages: List<AguiMessage>,
        /// The client's tools.
        tools: Opt<List<AguiTool>>,
        /// What the client wants the agent to know.
        context: Opt<List<AguiContext>>,
        /// A state that client and agent share.
        state: OptNull<Any>,
        /// Anything else for the agent.
        forwardedProps: Opt<Any>,
        /// Answers to what the run before was interrupted for.
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

    /// Something that a run needs from outside before it goes on.
    record AguiInterrupt {
        /// Names it.
        id: Str,
        /// What kind of question it is.
        reason: Str,
        /// The question.
        message: Opt<Str>,
        /// The JSON Schema of the answer.
        responseSchema: Opt<Object>,
        ;
        example {"id": "q1", "reason": "confirm", "message": "Delete it?", "responseSchema": {"type": "boolean"}}
    }
}
