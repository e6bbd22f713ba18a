import { useEffect } from "preact/hooks";

import { usePageState } from "../parts/hooks.js";
import { RevealedText } from "../parts/revealed_text.jsx";

interface TreeNode {
  readonly entry: { readonly id: string; readonly type: string; readonly message?: { readonly role?: string; readonly content?: unknown }; readonly name?: string };
  readonly children: readonly TreeNode[];
}

/** Panel with the possible forks of the session, and with its tree if available. */
export function Forks() {
  const { store, page, conversation } = usePageState();
  useEffect(() => void Promise.all([store.queryOptional("forkPoints"), store.queryOptional("tree")]), [store, conversation.messages.length]);
  const points = conversation.forkPoints ?? [];
  const reason = store.unavailableReason("fork");
  const tree = page.tree as { tree?: readonly TreeNode[]; leafId?: string | null } | undefined;
  return (
    <div class="panel-inside">
      {reason !== undefined && <p class="note">The session cannot be forked here: {reason}.</p>}
      {reason === undefined && store.unavailableReason("forkPoints") !== undefined && (
        <p class="note">Use “Fork here” below a message: there is no list, because {store.unavailableReason("forkPoints")}.</p>
      )}
      {points.length > 0 && (
        <>
          <p class="note">A fork ends before the message; its text returns to the input field.</p>
          <ul class="list">
            {points.map((point) => (
              <li key={point.id}>
                <button type="button" disabled={reason !== undefined || page.ended !== undefined} onClick={() => void store.fork(point.id)}>
                  <b>
                    <RevealedText text={point.text.slice(0, 200)} />
                  </b>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {points.length === 0 && reason === undefined && store.unavailableReason("forkPoints") === undefined && <p class="note">No messages yet.</p>}
      <h3>Session tree</h3>
      {store.unavailableReason("tree") !== undefined ? (
        <p class="note">The tree is not shown: {store.unavailableReason("tree")}.</p>
      ) : (
        <ul class="tree">
          {(tree?.tree ?? []).map((node) => (
            <Branch key={node.entry.id} node={node} leaf={tree?.leafId ?? undefined} />
          ))}
        </ul>
      )}
    </div>
  );
}

/** Entries up to the next entry with several branches, followed by these branches. */
function Branch({ node, leaf }: { node: TreeNode; leaf: string | undefined }) {
  const line = [node];
  for (let last = node; last.children.length === 1; ) {
    const next = last.children[0];
    if (next === undefined) break;
    line.push(next);
    last = next;
  }
  const ends = line.at(-1)?.children ?? [];
  return (
    <li>
      {line.filter(isShown).map(({ entry }) => (
        <div key={entry.id} class={entry.id === leaf ? "entry here" : "entry"}>
          <span class="badge">{entry.message?.role ?? entry.type}</span> <RevealedText text={entryText(entry)} />
        </div>
      ))}
      {ends.length > 1 && (
        <ul>
          {ends.map((child) => (
            <Branch key={child.entry.id} node={child} leaf={leaf} />
          ))}
        </ul>
      )}
    </li>
  );
}

function isShown({ entry }: TreeNode): boolean {
  return entry.message !== undefined || entry.type === "compaction";
}

function entryText({ message, name, type }: TreeNode["entry"]): string {
  const content = message?.content;
  const parts = Array.isArray(content) ? content : [];
  const text = typeof content === "string" ? content : parts.map((part: { text?: string; name?: string }) => part.text ?? part.name ?? "").join(" ");
  return (text || name || type).slice(0, 120);
}
