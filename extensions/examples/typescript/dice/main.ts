/** Adds a custom tool: dice. */

import { randomInt } from "node:crypto";

import { Extension } from "agentese/extension";

const extension = new Extension("dice");

const parameters = {
  type: "object",
  properties: {
    sides: { type: "integer", minimum: 2, description: "How many sides each die has" },
    count: { type: "integer", minimum: 1, description: "How many dice; 1 by default" },
  },
  required: ["sides"],
};

extension.tool<{ sides: number; count?: number }>(
  {
    name: "dice",
    description: "Rolls dice and says what they show.",
    parameters,
    promptGuidelines: ["Chance comes from dice."],
  },
  ({ sides, count = 1 }, context, update) => {
    const rolls: number[] = [];
    while (rolls.length < count && !context.signal.aborted) {
      rolls.push(randomInt(1, sides + 1));
      update(`${rolls.length} rolled`);
    }
    return { content: [{ type: "text", text: rolls.join(", ") }], details: { rolls } };
  },
);

await extension.run();
