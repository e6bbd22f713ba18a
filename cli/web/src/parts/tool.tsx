import { useState } from "preact/hooks";
import { type Block, type ToolBlock, readArguments } from "agentese/ui";

import { subagentsOf } from "../dialects/index.js";
import { ansiToHtml } from "../text/ansi.js";
import { type Change, type Line, changeOf } from "../text/diff.js";
import { revealed } from "../text/hidden.js";
import { highlighted, languageOf } from "../text/highlight.js";
import { prettyJson } from "../text/json.js";
import { duration } from "../text/format.js";
import { SubagentConversation, Subagents } from "./subagents.jsx";
import { Decision } from "./decision.jsx";
import { RevealedText } from "./revealed_text.jsx";
import { memo } from "./memo.js";
import { Picture } from "./picture.jsx";

/** Number of characters of an output that are displayed at first; a button shows the rest. */
const SHOWN = 20_000;

/** Maximum length in characters of a command that is displayed only in the summary. */
const MAX_SUMMARY_COMMAND = 40;

/** Maximum length of the summary in characters. */
const MAX_SUMMARY = 500;

/** Names of the most informative arguments of a tool call. */
const SUMMARY_ARGUMENTS = ["command", "path", "file_path", "pattern", "query", "url", "prompt", "description", "question", "name"];

/** Returns a one-line summary of a tool call. */
function summary(tool: ToolBlock): string {
  const given = (readArguments(tool) ?? {}) as Record<string, unknown>;
  const preferred = SUMMARY_ARGUMENTS.map((name) => given[name]).find((value) => typeof value === "string" && value !== "");
  const several = Object.values(given).find(Array.isArray)?.map(itemDescription).filter((one) => one !== "");
  const rest = Object.values(given).find((value) => typeof value === "string") ?? "";
  const all = String(preferred ?? (several?.length ? several.join(", ") : rest));
  const line = all.split("\n", 1)[0]?.slice(0, MAX_SUMMARY) ?? "";
  return all.trimEnd().length > line.length ? `${line} …` : line;
}

/**
 * Returns the description of one item of an argument that is a list, for example of a subagent.
 */
function itemDescription(one: unknown): string {
  const description = typeof one === "object" && one !== null ? (one as Record<string, unknown>)["description"] : undefined;
  return typeof description === "string" ? description : "";
}

const STATES = { coming: "being written", running: "running", done: "done", failed: "failed", skipped: "not run" } as const;

/** Tool call. It is folded, and shows the output while the tool runs. */
export const Tool = memo(({ tool }: { tool: ToolBlock }) => {
  const [chosen, choose] = useState<boolean | undefined>(undefined);
  const change = changeOf(tool);
  const isLive = tool.state === "running";
  const isOpen = chosen ?? (isLive || tool.state === "failed" || tool.state === "skipped" || (change !== undefined && !change.whole));
  return (
    <details class={`tool ${tool.state}`} open={isOpen}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          choose(!isOpen);
        }}
      >
        <span class="tool-mark" role="img" aria-label={STATES[tool.state]} />
        <span class="tool-name">
          <RevealedText text={tool.label ?? tool.name} />
        </span>
        <span class="tool-about">
          <RevealedText text={summary(tool)} />
        </span>
        {change && <Counts change={change} />}
        {tool.durationMs !== undefined && <span class="tool-time">{duration(tool.durationMs)}</span>}
      </summary>
      {isOpen && <ToolBody tool={tool} change={change} />}
    </details>
  );
});

function ToolBody({ tool, change }: { tool: ToolBlock; change: Change | undefined }) {
  const shown = tool.result ?? tool.output ?? [];
  const agents = subagentsOf(tool);
  const isPlain = change !== undefined && tool.state !== "failed" && tool.state !== "skipped";
  const title = change || hasCommand(tool) ? titleOf(tool) : undefined;
  return (
    <div class="tool-inside">
      {title !== undefined && (
        <p class="tool-title">
          <RevealedText text={title} />
        </p>
      )}
      {change ? <Diff change={change} /> : agents.length > 0 ? <Subagents agents={agents} /> : <ToolArguments tool={tool} />}
      {tool.child && <SubagentConversation conversation={tool.child} />}
      {!isPlain && <Output blocks={shown} live={tool.state === "running"} path={pathOf(tool)} />}
    </div>
  );
}

function pathOf(tool: ToolBlock): string | undefined {
  const given = readArguments(tool) as Record<string, unknown> | undefined;
  return typeof given?.["path"] === "string" ? given["path"] : undefined;
}

/** Returns the title of a call among its arguments. Agents behind the bridge from ACP have one. */
function titleOf(tool: ToolBlock): string | undefined {
  const title = (readArguments(tool) as Record<string, unknown> | undefined)?.["title"];
  return typeof title === "string" && title !== "" ? title : undefined;
}

/** Returns `true` if only the command of a call is drawn, and not its other arguments. */
const hasCommand = (tool: ToolBlock): boolean => typeof (readArguments(tool) as Record<string, unknown> | undefined)?.["command"] === "string";

/** Arguments of a call that do not fit into the summary. */
function ToolArguments({ tool }: { tool: ToolBlock }) {
  if (tool.arguments !== undefined && !isMembers(tool.arguments)) return <Decision text={prettyJson(tool.arguments)} language="json" name="Arguments" />;
  const given = (readArguments(tool) ?? {}) as Record<string, unknown>;
  const names = Object.keys(given);
  const command = given["command"];
  if (typeof command === "string") {
    // The summary already contains a short command.
    if (command.length < MAX_SUMMARY_COMMAND && !command.includes("\n")) return null;
    return <Decision text={command} language="bash" name="Command" />;
  }
  if (names.length === 0) return tool.argumentsText ? <Decision text={tool.argumentsText} name="Arguments" /> : null;
  const [only] = Object.values(given);
  if (names.length === 1 && typeof only !== "object" && String(only).length < 80) return null;
  return <Decision text={prettyJson(given)} language="json" name="Arguments" />;
}

const isMembers = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Output of a tool or a command. Of a long output, only the end is displayed, with a button for
 * the rest.
 */
export function Output({ blocks, live, path }: { blocks: readonly Block[]; live: boolean; path: string | undefined }) {
  const [all, showAll] = useState(false);
  return (
    <>
      {blocks.map((block, at) => {
        if (block.type === "image") return <Picture key={at} mimeType={block.mimeType} data={block.data} />;
        const text = block.type === "text" ? block.text : block.type === "data" ? prettyJson(block.value) : "";
        if (text === "") return null;
        const isCut = !all && text.length > SHOWN;
        const part = isCut ? text.slice(-SHOWN) : text;
        const language = path === undefined ? undefined : languageOf(path);
        const html = language !== undefined && !part.includes("\u001b") ? highlighted(part, language) : ansiToHtml(part);
        return (
          <div key={at} class="output">
            {isCut && (
              <button type="button" class="link" onClick={() => showAll(true)}>
                Show all of {Math.round(text.length / 1000)}k characters
              </button>
            )}
            <pre tabIndex={0} role="region" aria-label="Output" aria-busy={live} dangerouslySetInnerHTML={{ __html: html }} />
          </div>
        );
      })}
    </>
  );
}

export function Counts({ change }: { change: Change }) {
  return (
    <span class="counts">
      <span class="plus">+{change.added}</span> <span class="minus">−{change.removed}</span>
    </span>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−", gap: "⋯" } as const;

/** Limits of a file change that is displayed as a table, in lines and in characters. */
const DRAWN = { lines: 400, characters: 60_000 };

/** Change of a file. The part beyond the limits is displayed as text on request. */
export const Diff = memo((props: { change: Change }) => <DiffBody {...props} />);

function DiffBody({ change }: { change: Change }) {
  const [isText, showText] = useState(false);
  const language = languageOf(change.path);
  const drawn = firstLines(change.lines);
  const left = change.lines.length - drawn.length;
  return (
    <>
      <div class="diff" tabIndex={0} role="region" aria-label={`Changes of ${revealed(change.path)}`}>
        {isText ? (
          <pre class="diff-text" dangerouslySetInnerHTML={{ __html: highlighted(change.lines.map(plain).join("\n"), undefined) }} />
        ) : (
          <table>
            <tbody>
              {drawn.map((line, at) => (
                <tr key={at} class={line.kind}>
                  <td class="number">{line.new ?? line.old ?? ""}</td>
                  <td class="sign">{SIGNS[line.kind]}</td>
                  <td class="line">
                    <code dangerouslySetInnerHTML={{ __html: highlighted(line.text, language) }} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
      {left > 0 && (
        <p class="note cut-note">
          {isText ? "All lines as plain text." : `${left.toLocaleString("en")} more lines of this change are not shown.`}{" "}
          <button type="button" class="link" onClick={() => showText(!isText)}>
            {isText ? "Show the beginning as a table" : `Show all ${change.lines.length.toLocaleString("en")} as plain text`}
          </button>
        </p>
      )}
    </>
  );
}

/** Returns a line of a change as text. */
function plain({ kind, text }: Line): string {
  return `${SIGNS[kind]} ${text}`;
}

/** Returns the leading lines that fit within the limits. */
function firstLines(lines: readonly Line[]): readonly Line[] {
  let characters = 0;
  const end = lines.findIndex(({ text }, at) => at >= DRAWN.lines || (characters += text.length) > DRAWN.characters);
  return end < 0 ? lines : lines.slice(0, end);
}
