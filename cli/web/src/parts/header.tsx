import { useState } from "preact/hooks";

import { fileName, shortNumber } from "../text/format.js";
import { revealed } from "../text/hidden.js";
import { usePageState } from "./hooks.js";
import { RevealedText } from "./revealed_text.jsx";

export type PanelName = "sessions" | "forks" | "files" | "inspector" | "about";

const PANELS: readonly (readonly [PanelName, string])[] = [
  ["sessions", "Sessions"],
  ["forks", "Forks"],
  ["files", "Files"],
  ["inspector", "Inspector"],
  ["about", "About"],
];

/** Header of the page, with the session, the model and the buttons of the panels. */
export function Header({ panel, onPanel }: { panel: PanelName | undefined; onPanel: (panel: PanelName | undefined) => void }) {
  const { store, page } = usePageState();
  return (
    <header class="top">
      <div class="who">
        <SessionName />
        <span class="where" title={`${page.hello?.command.join(" ") ?? ""}\n${page.hello?.cwd ?? ""}`}>
          {page.hello?.dialect} · {fileName(page.hello?.cwd ?? "")}
          {page.hello?.readOnly && <span class="badge">read only</span>}
        </span>
      </div>
      <div class="choices">
        <ModelChoice />
        <ThinkingChoice />
      </div>
      <nav class="panels" aria-label="Panels">
        {PANELS.map(([name, title]) => (
          <button key={name} type="button" aria-pressed={panel === name} onClick={() => onPanel(panel === name ? undefined : name)}>
            {title}
          </button>
        ))}
        {store.unavailableReason("newSession") === undefined && (
          <button type="button" disabled={page.ended !== undefined} onClick={() => void store.replaceSession("newSession")}>
            New
          </button>
        )}
      </nav>
    </header>
  );
}

function SessionName() {
  const { store, conversation } = usePageState();
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const name = conversation.session.name ?? conversation.title ?? "";
  if (store.unavailableReason("rename") !== undefined) return <h1>{revealed(name) || "agentese"}</h1>;
  if (draft === undefined) {
    return (
      <h1>
        <button type="button" class="quiet name" title="Name the session" onClick={() => setDraft(name)}>
          <RevealedText text={name || "agentese"} />
        </button>
      </h1>
    );
  }
  const done = (): void => {
    if (draft.trim() !== "" && draft.trim() !== name) void store.rename(draft.trim());
    setDraft(undefined);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        done();
      }}
    >
      <input
        class="name"
        aria-label="Name of the session"
        value={draft}
        ref={(field) => field?.focus()}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onBlur={done}
        onKeyDown={(event) => event.key === "Escape" && setDraft(undefined)}
      />
    </form>
  );
}

function ModelChoice() {
  const { store, page, conversation } = usePageState();
  const models = conversation.models ?? [];
  const now = conversation.model;
  const key = (model: { provider?: string; id: string } | undefined): string => (model ? `${model.provider ?? ""}\n${model.id}` : "");
  if (store.unavailableReason("setModel") !== undefined || models.length === 0) {
    return now ? <span class="model">{revealed(now.name ?? now.id)}</span> : null;
  }
  const isListed = models.some((model) => key(model) === key(now));
  return (
    <select
      aria-label="Model"
      title={now?.window ? `${shortNumber(now.window)} tokens of context` : "Model"}
      value={key(now)}
      disabled={page.ended !== undefined}
      onChange={(event) => {
        const [provider = "", id = ""] = event.currentTarget.value.split("\n");
        void store.change("setModel", provider, id);
      }}
    >
      {!isListed && <option value={key(now)}>{revealed(now?.name ?? now?.id ?? "No model")}</option>}
      {models.map((model) => (
        <option key={key(model)} value={key(model)}>
          {revealed(model.name ?? model.id)}
        </option>
      ))}
    </select>
  );
}

function ThinkingChoice() {
  const { store, page, conversation } = usePageState();
  const levels = page.levels ?? store.dialect.levels;
  const level = conversation.thinkingLevel;
  if (store.unavailableReason("setThinking") !== undefined || levels.length === 0 || conversation.model?.reasoning === false) return null;
  return (
    <select
      aria-label="Thinking level"
      title="Thinking level of the model"
      value={level ?? "off"}
      disabled={page.ended !== undefined}
      onChange={(event) => void store.change("setThinking", event.currentTarget.value)}
    >
      {level !== undefined && !levels.includes(level) && <option value={level}>thinking: {level}</option>}
      {levels.map((one) => (
        <option key={one} value={one}>
          thinking: {one}
        </option>
      ))}
    </select>
  );
}
