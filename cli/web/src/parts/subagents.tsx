import type { Conversation, Task } from "agentese/ui";

import { type Agent, type AgentState } from "../text/agents.js";
import { coloured } from "../text/ansi.js";
import { dollars, duration, short } from "../text/words.js";
import { Revealed } from "./hidden.jsx";
import { Message } from "./message.jsx";
import { useNow } from "./use.js";

const STATES: Readonly<Record<AgentState, string>> = {
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  stopped: "stopped",
};

/** Subagents of a tool call. */
export function Agents({ agents }: { agents: readonly Agent[] }) {
  const { conversation } = useNow();
  return (
    <ul class="agents" aria-label="Subagents">
      {agents.map((agent) => (
        <Row key={agent.id} agent={agent} task={conversation.tasks.find(({ id }) => id === agent.id)} />
      ))}
    </ul>
  );
}

function Row({ agent, task }: { agent: Agent; task: Task | undefined }) {
  const { title, assignment, state, tools, output } = agent;
  const verification = agent.verification ?? (typeof task?.["verification"] === "string" ? task["verification"] : undefined);
  const activity = task?.state === "running" && typeof task["activity"] === "string" ? task["activity"] : undefined;
  const facts = [
    verification && `verification: ${verification.replaceAll("_", " ")}${activity === undefined ? "" : ` (${activity})`}`,
    agent.toolCount !== undefined && `${agent.toolCount} tool call${agent.toolCount > 1 ? "s" : ""}`,
    agent.tokens !== undefined && `${short(agent.tokens)} tokens`,
    agent.cost !== undefined && dollars(agent.cost),
    agent.durationMs !== undefined && duration(agent.durationMs),
  ].filter(Boolean);
  return (
    <li class={`agent ${state}`}>
      <p class="agent-head">
        <span class="agent-mark" role="img" aria-label={STATES[state]} />
        <span class="agent-title">
          <Revealed text={title} />
        </span>
        <span class="agent-facts">{facts.join(" · ")}</span>
      </p>
      {assignment !== undefined && assignment !== title && (
        <p class="agent-assignment">
          <Revealed text={assignment} />
        </p>
      )}
      {agent.doing !== undefined && <p class="agent-doing">{agent.doing}…</p>}
      {state === "running" && tools.length > 0 && (
        <ul class="agent-tools">
          {tools.slice(-4).map((tool, at) => (
            <li key={at}>
              <Revealed text={tool} />
            </li>
          ))}
        </ul>
      )}
      {agent.error !== undefined && state !== "done" && <p class="failure">{agent.error}</p>}
      {output !== undefined && (
        <pre tabIndex={0} role="region" aria-label={`Output of ${title}`} dangerouslySetInnerHTML={{ __html: coloured(output) }} />
      )}
    </li>
  );
}

/** Conversation of a subagent, if available. */
export function Child({ conversation }: { conversation: Conversation }) {
  return (
    <div class="child" role="region" aria-label="The subagent's conversation">
      {conversation.messages.map((message) => (
        <Message key={message.key} message={message} onFork={undefined} />
      ))}
      {conversation.run.error !== undefined && <p class="failure">{conversation.run.error}</p>}
    </div>
  );
}
