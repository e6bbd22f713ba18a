import type { Conversation, Task } from "agentese/ui";

import { ansiToHtml } from "../text/ansi.js";
import { dollars, duration, shortNumber } from "../text/format.js";
import { type Subagent, type SubagentState } from "../text/subagents.js";
import { usePageState } from "./hooks.js";
import { Message } from "./message.jsx";
import { RevealedText } from "./revealed_text.jsx";

const STATES: Readonly<Record<SubagentState, string>> = {
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  stopped: "stopped",
};

/** List of the subagents that a tool call started. */
export function Subagents({ agents }: { agents: readonly Subagent[] }) {
  const { conversation } = usePageState();
  return (
    <ul class="agents" aria-label="Subagents">
      {agents.map((agent) => (
        <Row key={agent.id} agent={agent} task={conversation.tasks.find(({ id }) => id === agent.id)} />
      ))}
    </ul>
  );
}

function Row({ agent, task }: { agent: Subagent; task: Task | undefined }) {
  const { title, assignment, state, tools, output } = agent;
  const verification = agent.verification ?? (typeof task?.["verification"] === "string" ? task["verification"] : undefined);
  const activity = task?.state === "running" && typeof task["activity"] === "string" ? task["activity"] : undefined;
  const facts = [
    verification && `verification: ${verification.replaceAll("_", " ")}${activity === undefined ? "" : ` (${activity})`}`,
    agent.toolCount !== undefined && `${agent.toolCount} tool call${agent.toolCount > 1 ? "s" : ""}`,
    agent.tokens !== undefined && `${shortNumber(agent.tokens)} tokens`,
    agent.cost !== undefined && dollars(agent.cost),
    agent.durationMs !== undefined && duration(agent.durationMs),
  ].filter(Boolean);
  return (
    <li class={`agent ${state}`}>
      <p class="agent-head">
        <span class="agent-mark" role="img" aria-label={STATES[state]} />
        <span class="agent-title">
          <RevealedText text={title} />
        </span>
        <span class="agent-facts">{facts.join(" · ")}</span>
      </p>
      {assignment !== undefined && assignment !== title && (
        <p class="agent-assignment">
          <RevealedText text={assignment} />
        </p>
      )}
      {agent.activity !== undefined && <p class="agent-doing">{agent.activity}…</p>}
      {state === "running" && tools.length > 0 && (
        <ul class="agent-tools">
          {tools.slice(-4).map((tool, at) => (
            <li key={at}>
              <RevealedText text={tool} />
            </li>
          ))}
        </ul>
      )}
      {agent.error !== undefined && state !== "done" && <p class="failure">{agent.error}</p>}
      {output !== undefined && (
        <pre tabIndex={0} role="region" aria-label={`Output of ${title}`} dangerouslySetInnerHTML={{ __html: ansiToHtml(output) }} />
      )}
    </li>
  );
}

/** Conversation of a subagent, if the agent reports it. */
export function SubagentConversation({ conversation }: { conversation: Conversation }) {
  return (
    <div class="child" role="region" aria-label="The subagent's conversation">
      {conversation.messages.map((message) => (
        <Message key={message.key} message={message} onFork={undefined} />
      ))}
      {conversation.run.error !== undefined && <p class="failure">{conversation.run.error}</p>}
    </div>
  );
}
