// Serves the mock on a free port, prints the port on stdout, and ends with stdin.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 7 });
const call = { id: "call_1", name: "bash", arguments: JSON.stringify({ command: "ls -l" }) };
mock.onMessage("say it", { content: "Good morning, ö." });
mock.onMessage("call it", { toolCalls: [call, { ...call, id: "call_2", arguments: "{}" }] });
mock.onMessage("think it", { content: "Forty-two.", reasoning: "Let me think." });
mock.onMessage("fail it", { error: { message: "Mocked refusal", type: "invalid_request_error" }, status: 400 });
const work = { id: "call_3", name: "bash", arguments: JSON.stringify({ command: "echo done by hand" }) };
mock.on({ userMessage: "work it", hasToolResult: false }, { toolCalls: [work] });
mock.on({ userMessage: "work it", hasToolResult: true }, { content: "It is done." });
await mock.start();
console.log(new URL(mock.url).port);
process.stdin.resume();
process.stdin.on("end", async () => {
  await mock.stop();
  process.exit(0);
});
