// A unit test of code that uses an agent, with a recorded session in place of the agent.
// node --test replay.js

import assert from "node:assert/strict";
import { test } from "node:test";

import { pi } from "agentese";
import { memoryPair, replay } from "agentese/testing";

/** The code under test. */
async function ask(client: pi.Client, message: string): Promise<string> {
  let text = "";
  for await (const event of await client.prompt({ message })) {
    if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") continue;
    text += event.assistantMessageEvent.delta;
  }
  return text;
}

const RECORDING = `{"transcript":1,"dialect":"pi"}
{"dir":"c2s","line":"{\\"id\\":\\"1\\",\\"type\\":\\"prompt\\",\\"message\\":\\"Hello?\\"}"}
{"dir":"s2c","line":"{\\"id\\":\\"1\\",\\"type\\":\\"response\\",\\"command\\":\\"prompt\\",\\"success\\":true}"}
{"dir":"s2c","line":"{\\"type\\":\\"agent_start\\"}"}
{"dir":"s2c","line":"{\\"type\\":\\"message_update\\",\\"assistantMessageEvent\\":{\\"type\\":\\"text_delta\\",\\"contentIndex\\":0,\\"delta\\":\\"Hello!\\"}}"}
{"dir":"s2c","line":"{\\"type\\":\\"agent_end\\",\\"messages\\":[]}"}`;

test("the answer is put together", async () => {
  const [ours, theirs] = memoryPair();
  const playing = replay(pi.spec, RECORDING, theirs);
  const client = new pi.Client(ours);
  assert.equal(await ask(client, "Hello?"), "Hello!");
  await client.close();
  await playing;
});
