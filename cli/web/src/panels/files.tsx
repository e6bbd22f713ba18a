import { useMemo, useState } from "preact/hooks";
import type { Message } from "agentese/ui";

import { RevealedText } from "../parts/revealed_text.jsx";
import { Counts, Diff } from "../parts/tool.jsx";
import { usePageState } from "../parts/hooks.js";
import { type Change, changeOf } from "../text/diff.js";

/** Returns the changes grouped by file, in the order of the first change to each file. */
function changesByFile(messages: readonly Message[]): Map<string, Change[]> {
  const files = new Map<string, Change[]>();
  for (const message of messages) {
    for (const block of message.blocks) {
      if (block.type !== "tool" || block.state === "failed" || block.state === "skipped") continue;
      const change = changeOf(block);
      if (change !== undefined) files.set(change.path, [...(files.get(change.path) ?? []), change]);
    }
  }
  return files;
}

/** Panel with all files that the agent's tools changed. */
export function Files() {
  const { conversation } = usePageState();
  const files = useMemo(() => changesByFile(conversation.messages), [conversation.messages]);
  const [open, toggle] = useState<ReadonlySet<string>>(new Set());
  if (files.size === 0) return <p class="note panel-inside">No tool has changed a file yet. Changes by shell commands are not listed.</p>;
  return (
    <div class="panel-inside">
      {[...files].map(([path, changes]) => {
        const added = changes.reduce((sum, change) => sum + change.added, 0);
        const removed = changes.reduce((sum, change) => sum + change.removed, 0);
        const isOpen = open.has(path) || files.size === 1;
        return (
          <details key={path} class="file" open={isOpen}>
            <summary
              onClick={(event) => {
                event.preventDefault();
                const next = new Set(open);
                if (!next.delete(path)) next.add(path);
                toggle(next);
              }}
            >
              <code>
                <RevealedText text={path} />
              </code> <Counts change={{ path, lines: [], added, removed, whole: false }} />
            </summary>
            {isOpen && changes.map((change, at) => <Diff key={at} change={change} />)}
          </details>
        );
      })}
    </div>
  );
}
