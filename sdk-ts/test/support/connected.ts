import type { Diagnostic } from "../../src/index.js";
import { FakeAgent } from "./agent.js";

/** Connects a client to an agent in memory; returns both, with the diagnostics and frames that the tap receives. */
export function connected<C>(
  make: new (transport: FakeAgent["transport"], options: never) => C,
  options: object = {},
): { client: C; agent: FakeAgent; odd: Diagnostic[]; frames: string[] } {
  const agent = new FakeAgent();
  const odd: Diagnostic[] = [];
  const frames: string[] = [];
  const tap = {
    diagnostic: (diagnostic: Diagnostic) => void odd.push(diagnostic),
    frame: (direction: string, text: string) => void frames.push(`${direction} ${text}`),
  };
  const client = new make(agent.transport, { tap, ...options } as never);
  return { client, agent, odd, frames };
}
