// An agent of the pi dialect that sends the frames in a file, valid or not. Tests of the page start it as a
// program.
//
// The file contains a list of turns. The items of a turn are frames, texts that are sent verbatim as lines,
// and objects `{"ask": frame}`. Such a frame is a question; the agent awaits the answer and writes it to a
// file beside the first one. Each prompt plays the next turn. After the last turn, the answer is THE-END.

import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [file] = process.argv.slice(2);
const turns = JSON.parse(readFileSync(file, "utf8"));
const history = [];
const questions = new Map();

const write = (frame) => process.stdout.write(`${typeof frame === "string" ? frame : JSON.stringify(frame)}\n`);

function streamMessage(message) {
  history.push(message);
  write({ type: "message_start", message: message.role === "assistant" ? { ...message, content: [] } : message });
  write({ type: "message_end", message });
}

const answer = (text) => ({ role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });

async function play(turn) {
  for (const frame of turn) {
    if (frame.ask !== undefined) {
      const given = new Promise((resolve) => questions.set(frame.ask.id, resolve));
      write(frame.ask);
      appendFileSync(`${file}.answers`, `${JSON.stringify(await given)}\n`);
    } else if (frame.say !== undefined) streamMessage(frame.say);
    else write(frame);
  }
}

const STATE = { model: null, thinkingLevel: "off", isStreaming: false, isCompacting: false, sessionId: "s1" };

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, type, message } = JSON.parse(line);
  const respond = (data) => write({ id, type: "response", command: type, success: true, data });
  switch (type) {
    case "extension_ui_response":
      return questions.get(id)?.(JSON.parse(line));
    case "get_state":
      return respond({ ...STATE, messageCount: history.length });
    case "get_messages":
      return respond({ messages: history });
    case "prompt":
      respond(undefined);
      write({ type: "agent_start" });
      streamMessage({ role: "user", content: [{ type: "text", text: message }] });
      await play(turns.shift() ?? [{ say: answer("THE-END") }]);
      return write({ type: "agent_end", messages: [] });
    default:
      return write({ id, type: "response", command: type, success: false, error: `Unknown command: ${type}` });
  }
});
