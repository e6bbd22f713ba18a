import { useState } from "preact/hooks";

import { usePageState } from "../parts/hooks.js";
import { dollars, shortNumber } from "../text/format.js";

const THEMES = ["system", "light", "dark"] as const;

/** Sets the colour theme of the page. */
export function theme(name: string): void {
  document.documentElement.dataset["theme"] = name;
  localStorage.setItem("agentese theme", name);
}

/** Panel about the page, its settings and the unavailable actions. */
export function About() {
  const { store, page, conversation } = usePageState();
  const [now, set] = useState(localStorage.getItem("agentese theme") ?? "system");
  const { usage, session } = conversation;
  const absent = store.unavailableActions;
  return (
    <div class="panel-inside">
      <label class="row">
        Colours{" "}
        <select
          value={now}
          onChange={(event) => {
            set(event.currentTarget.value);
            theme(event.currentTarget.value);
          }}
        >
          {THEMES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <dl>
        <dt>Agent</dt>
        <dd>
          <code>{page.hello?.command.join(" ")}</code>
        </dd>
        <dt>Directory</dt>
        <dd>
          <code>{page.hello?.cwd}</code>
        </dd>
        <dt>Session</dt>
        <dd>
          <code>{session.file ?? session.id ?? "not stored"}</code>
        </dd>
        <dt>Tokens</dt>
        <dd>
          {shortNumber(usage.input ?? 0)} in, {shortNumber(usage.output ?? 0)} out, {shortNumber(usage.cacheRead ?? 0)} from the cache
          {usage.cost !== undefined && usage.cost > 0 && `, ${dollars(usage.cost)}`}
        </dd>
      </dl>
      {store.unavailableReason("exportPage") === undefined && (
        <button
          type="button"
          onClick={async () => {
            const done = await store.try("exportPage");
            const path = (done?.data as { path?: string } | undefined)?.path;
            if (path !== undefined) store.toast("info", `Written to ${path}`);
          }}
        >
          Export the session as a page
        </button>
      )}
      <h3>Keys</h3>
      <dl class="keys">
        <dt>Enter</dt>
        <dd>send, or steer while the agent works</dd>
        <dt>Alt+Enter</dt>
        <dd>follow up when the agent would stop</dd>
        <dt>Shift+Enter</dt>
        <dd>a new line</dd>
        <dt>Esc</dt>
        <dd>stop the agent, or close the panel</dd>
        <dt>Ctrl+.</dt>
        <dd>the inspector</dd>
      </dl>
      {absent.length > 0 && (
        <>
          <h3>Unavailable actions</h3>
          <ul class="absent">
            {absent.map(({ title, reason }) => (
              <li key={title}>
                <b>{title}</b>: {reason}.
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="note">
        agentese {page.hello?.version}. <a href="LICENSES.txt">Licences</a>
      </p>
    </div>
  );
}
