import type { Conversation } from "agentese/ui";

import { endedText } from "../connection.js";
import { ansiToHtml } from "../text/ansi.js";
import { dollars, inputTokens, shortNumber } from "../text/format.js";
import { prettyJson } from "../text/json.js";
import { useClock, usePageState } from "./hooks.js";
import { RevealedText } from "./revealed_text.jsx";

/**
 * Maximum displayed length of a running command's output in characters; the end is displayed.
 */
const SHOWN = 20_000;

/** Line above the input field that shows the activity of the run. */
export function Activity() {
  const { store, page, conversation } = usePageState();
  const { run, waiting, shells } = conversation;
  useClock(run.state === "retrying");
  return (
    <div class="activity">
      {page.ended && (
        <div class="banner failure" role="alert">
          <p>
            {endedText(page.ended)}.{page.ended.restarts ? " It is restarting…" : ""}
          </p>
          {page.ended.stderr.trim() !== "" && <pre tabIndex={0}>{page.ended.stderr.trim().split("\n").slice(-12).join("\n")}</pre>}
          {!page.ended.restarts && !page.hello?.readOnly && (
            <button type="button" class="primary" onClick={() => store.link.requestServer("restart")}>
              Restart the agent
            </button>
          )}
        </div>
      )}
      {!page.connected && page.hello && <p class="banner warning" role="status">The connection is lost. The page reconnects…</p>}
      {activityText(conversation) !== undefined && (
        <p class={`doing ${run.state}`} role="status">
          <span class="spinner" aria-hidden="true" />
          {activityText(conversation)}
          {run.state === "retrying" && store.unavailableReason("abortRetry") === undefined && (
            <button type="button" class="link" onClick={() => void store.try("abortRetry")}>
              Cancel the retry
            </button>
          )}
        </p>
      )}
      {run.state === "idle" && run.error !== undefined && <p class="banner failure" role="alert">{typeof run.error === "string" ? run.error : prettyJson(run.error)}</p>}
      {shells.map((shell) => (
        <div key={shell.key} class="shell-running">
          <code>
            $ <RevealedText text={shell.command} />
          </code>
          {store.unavailableReason("abortShell") === undefined && (
            <button type="button" class="link" onClick={() => void store.try("abortShell")}>
              Stop
            </button>
          )}
          {shell.output !== "" && <pre tabIndex={0} dangerouslySetInnerHTML={{ __html: ansiToHtml(shell.output.slice(-SHOWN)) }} />}
        </div>
      ))}
      {waiting.length > 0 && (
        <ul class="queue" aria-label="Queued messages">
          {waiting.map((one) => (
            <li key={one.key}>
              <span class="badge">{one.mode === "steer" ? "steers" : one.mode === "followUp" ? "follows" : "sent"}</span> <RevealedText text={one.text} />
              {one.images > 0 && <i> + {one.images} picture{one.images > 1 ? "s" : ""}</i>}
            </li>
          ))}
          {store.unavailableReason("clearQueue") === undefined && (
            <li>
              <button type="button" class="link" onClick={() => void store.try("clearQueue")}>
                Clear the queue
              </button>
            </li>
          )}
        </ul>
      )}
    </div>
  );
}

function activityText({ run }: Conversation): string | undefined {
  switch (run.state) {
    case "idle":
      return undefined;
    case "working":
      return run.activity ?? "Working…";
    case "aborting":
      return "Stopping…";
    case "compacting":
      return `Compacting the conversation${run.compaction?.reason ? ` (${run.compaction.reason})` : ""}…`;
    case "retrying": {
      const { retry } = run;
      if (!retry) return "Retrying…";
      const left = retry.at === undefined || retry.delayMs === undefined ? undefined : Math.max(0, Math.ceil((retry.at + retry.delayMs - Date.now()) / 1000));
      const error = retry.error ? `${retry.error.slice(0, 200)} — ` : "";
      return `${error}try ${retry.attempt ?? 1}${retry.maxAttempts === undefined ? "" : ` of ${retry.maxAttempts}`}${left ? ` in ${left} s` : ""}`;
    }
  }
}

/** Line with tokens, cost, context, and the status entries of extensions. */
export function StatusLine() {
  const { store, page, conversation } = usePageState();
  const { usage, context, status } = conversation;
  const window = context?.window ?? conversation.model?.window;
  const tokens = context?.tokens;
  const share = window && tokens !== undefined ? Math.min(100, Math.round((tokens / window) * 100)) : undefined;
  return (
    <footer class="status-line">
      <span class={page.connected && !page.ended ? "dot on" : "dot"} role="img" aria-label={page.connected ? "connected" : "not connected"} />
      {(usage.output ?? 0) > 0 && (
        <span title={`${usage.input ?? 0} in, ${usage.output} out, ${usage.cacheRead ?? 0} read from the cache, ${usage.cacheWrite ?? 0} written to it`}>
          ↑{shortNumber(inputTokens(usage))} ↓{shortNumber(usage.output ?? 0)}
        </span>
      )}
      {usage.cost !== undefined && usage.cost > 0 && <span>{dollars(usage.cost)}</span>}
      {share !== undefined && window && (
        <span class="context" title={`${tokens} of ${window} tokens`}>
          <meter aria-label="Context used" min={0} max={100} high={80} value={share} /> {share}% of {shortNumber(window)}
        </span>
      )}
      {store.unavailableReason("compact") === undefined && conversation.messages.length > 0 && !conversation.run.working && (
        <button type="button" class="link" onClick={() => void store.try("compact", "")}>
          Compact
        </button>
      )}
      {Object.entries(status).map(([key, text]) => (
        <span key={key} dangerouslySetInnerHTML={{ __html: ansiToHtml(text) }} />
      ))}
    </footer>
  );
}

/** Widgets of extensions, above or below the input field. */
export function Widgets({ placement }: { placement: "aboveEditor" | "belowEditor" }) {
  const { conversation } = usePageState();
  const here = Object.entries(conversation.widgets).filter(([, widget]) => (widget.placement ?? "aboveEditor") === placement);
  if (here.length === 0) return null;
  return (
    <div class="widgets">
      {here.map(([key, { lines }]) => (
        <pre key={key} dangerouslySetInnerHTML={{ __html: ansiToHtml(lines.join("\n")) }} />
      ))}
    </div>
  );
}
