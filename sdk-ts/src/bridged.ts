/** Protocols of agents that clients drive through a bridge, because there is no client of the protocol. */

import { bridgedProtocols } from "./generated/recognition.js";
import type { JsonObject } from "./generated/types.js";
import type { BridgedProtocol } from "./spec.js";

/** Returns the protocol with this name; `undefined` if a client speaks it or it is unknown. */
export function bridgedProtocol(name: string): BridgedProtocol | undefined {
  return bridgedProtocols.find((protocol) => protocol.name === name);
}

/** Returns the requests that start a connection, one for each protocol. The agent does not change anything. */
export function handshakes(idPrefix: string): JsonObject[] {
  return bridgedProtocols.map(({ name, version, handshake, versionMember }) => ({
    jsonrpc: "2.0",
    id: `${idPrefix}${name}`,
    method: handshake,
    params: { [versionMember]: version },
  }));
}

/** Returns the protocol of the agent if a frame is the answer to one of these requests. */
export function protocolOfAnswer(idPrefix: string, { jsonrpc, id, result }: JsonObject): BridgedProtocol | undefined {
  const version = ({ versionMember }: BridgedProtocol): unknown => (result as JsonObject | null | undefined)?.[versionMember];
  return bridgedProtocols.find(
    (protocol) => jsonrpc === "2.0" && id === `${idPrefix}${protocol.name}` && Number.isInteger(version(protocol)),
  );
}

/** Returns the instruction for the use of such an agent. */
export function bridgeInstruction({ name, front }: BridgedProtocol): string {
  return `an agent of ${name} needs a bridge: put \`agentese bridge --to ${front} --from ${name} --\` before its command line, and use the dialect ${front}`;
}
