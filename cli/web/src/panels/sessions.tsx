import { useEffect, useState } from "preact/hooks";

import { usePageState } from "../parts/hooks.js";
import { RevealedText } from "../parts/revealed_text.jsx";
import { ago } from "../text/format.js";

/** Panel with the stored sessions of the working directory. */
export function Sessions() {
  const { store, page, conversation } = usePageState();
  const [search, setSearch] = useState("");
  const reason = store.unavailableReason("openSession");
  useEffect(() => void store.listSessions(), [store, conversation.session.id]);
  const query = search.toLowerCase();
  const found = (page.sessions ?? []).filter((session) =>
    `${session.name ?? ""} ${session.firstMessage ?? ""} ${session.id}`.toLowerCase().includes(query),
  );
  return (
    <div class="panel-inside">
      {reason !== undefined && <p class="note">Sessions cannot be opened here: {reason}.</p>}
      <input type="search" aria-label="Search sessions" placeholder="Search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      {page.sessions === undefined ? (
        <p class="note">Reading…</p>
      ) : found.length === 0 ? (
        <p class="note">No sessions{search === "" ? " here yet" : " match the search"}.</p>
      ) : (
        <ul class="list">
          {found.map((session) => (
            <li key={session.path}>
              <button
                type="button"
                disabled={reason !== undefined || page.ended !== undefined}
                aria-current={session.id === conversation.session.id}
                onClick={() => void store.replaceSession("openSession", session.path, session.id)}
              >
                <b>
                  <RevealedText text={session.name ?? session.firstMessage?.slice(0, 120) ?? "(no messages)"} />
                </b>
                <span>
                  {ago(session.modified)}
                  {session.messageCount !== undefined && ` · ${session.messageCount} messages`}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
