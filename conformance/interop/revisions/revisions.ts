// Drives any revision of a dialect: `revisions.js DIALECT PROGRAM ARGUMENTS…`. Prints the result as JSON.
import { NotInRevisionError, omp, pi } from "agentese";
import { spawn } from "agentese/stdio";

const [dialect, ...command] = process.argv.slice(2);
const odd: string[] = [];
const tap = {
  diagnostic: (found: { kind: string }): void => {
    if (found.kind !== "dialog_by_policy") odd.push(JSON.stringify(found));
  },
};

async function newer(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
    return "answered";
  } catch (error) {
    if (error instanceof NotInRevisionError) return `not in ${error.revision}`;
    throw error;
  }
}

async function speak(client: pi.Client | omp.Client, newest: () => Promise<unknown>): Promise<void> {
  const texts: string[] = [];
  for (const message of ["hello there", "use a tool"]) {
    let text = "";
    const run = await client.prompt({ message });
    for await (const event of run) {
      if (event.type === "message_start") text = "";
      if (event.type === "message_update" && "assistantMessageEvent" in event) {
        const piece = event.assistantMessageEvent;
        if (typeof piece === "object" && piece !== null && "type" in piece && piece.type === "text_delta") text += String(piece.delta);
      }
    }
    await run.result();
    texts.push(text);
  }
  const told = { newer: await newer(newest()), busy: (await client.getState()).isStreaming };
  const { revision } = client;
  await client.close();
  process.stdout.write(`${JSON.stringify({ revision, texts, ...told, odd })}\n`);
}

if (dialect === "pi") {
  const client = await spawn(pi.Client, command, { tap });
  await speak(client, () => client.getTree());
} else {
  const client = await spawn(omp.Client, command, { tap });
  await speak(client, () => client.getSubagents());
}
