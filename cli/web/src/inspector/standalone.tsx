import { useEffect, useState } from "preact/hooks";
import { type Conversation, View } from "agentese/ui";

import { DIALECTS } from "../dialects/index.js";
import { PartBoundary } from "../parts/error_boundary.jsx";
import { RevealedText } from "../parts/revealed_text.jsx";
import { Messages } from "../parts/messages.jsx";
import type { Entry } from "./frames.js";
import { readTranscript } from "./transcript.js";
import { FrameTable } from "./frame_table.jsx";

/** Loaded transcript, with the conversation after each of its records. */
interface LoadedTranscript {
  readonly name: string;
  readonly dialect: string;
  readonly entries: readonly Entry[];
  readonly conversations: readonly Conversation[];
}

function load(name: string, text: string, fallback: string): LoadedTranscript {
  const dialectOf = (agent: string): string => (Object.hasOwn(DIALECTS, agent) ? agent : fallback);
  const { header, entries } = readTranscript(text, (agent) => DIALECTS[dialectOf(agent)]?.spec);
  const dialect = dialectOf(header.agent);
  const view = View.open(dialect);
  // Conversations share unchanged parts, so storing one for each record needs little memory.
  const conversations = entries.map(({ direction, line, t }) => (direction === "note" ? view.conversation : view[direction](line, t)));
  return { name: typeof header.title === "string" ? header.title : name, dialect, entries, conversations };
}

/**
 * Page of `agentese inspect`. It shows a transcript step by step, with the conversation at each
 * step.
 */
export function Standalone() {
  const [loaded, set] = useState<LoadedTranscript | undefined>(undefined);
  const [failure, fail] = useState<string | undefined>(undefined);
  const [step, go] = useState(0);
  const open = (name: string, text: string, dialect: string): void => {
    try {
      const next = load(name, text, dialect);
      set(next);
      go(next.entries.length - 1);
      fail(undefined);
      document.title = `${next.name} – agentese inspect`;
    } catch (error) {
      fail(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  useEffect(() => {
    void fetch("transcript")
      .then(async (response) => {
        const text = await response.text();
        if (!response.ok) throw new Error(text);
        open(response.headers.get("x-file-name") ?? "transcript", text, response.headers.get("x-dialect") ?? "pi");
      })
      .catch((error: unknown) => fail(String(error)));
  }, []);
  const conversation = loaded?.conversations[step];
  return (
    <div class="standalone">
      <header class="top">
        <h1>
          <RevealedText text={loaded?.name ?? "agentese inspect"} />
        </h1>
        {loaded && (
          <div class="stepper" role="group" aria-label="Steps">
            <button type="button" disabled={step === 0} onClick={() => go(step - 1)}>
              ‹ Back
            </button>
            <input
              type="range"
              aria-label="Step"
              min={0}
              max={loaded.entries.length - 1}
              value={step}
              onInput={(event) => go(Number(event.currentTarget.value))}
            />
            <button type="button" disabled={step >= loaded.entries.length - 1} onClick={() => go(step + 1)}>
              Next ›
            </button>
            <span class="note">
              {step + 1} of {loaded.entries.length}
            </span>
          </div>
        )}
        <label class="button">
          Load…
          <input
            type="file"
            class="hidden-file"
            accept=".jsonl"
            onChange={async (event) => {
              const file = event.currentTarget.files?.[0];
              if (file) open(file.name, await file.text(), loaded?.dialect ?? "pi");
            }}
          />
        </label>
      </header>
      {failure !== undefined && <p class="banner failure" role="alert">{failure}</p>}
      {loaded && conversation && (
        <div class="standalone-inside">
          <PartBoundary name="The list of frames" of={loaded.entries[step]}>
            <FrameTable
              entries={loaded.entries}
              spec={DIALECTS[loaded.dialect]?.spec}
              dialect={loaded.dialect}
              step={loaded.entries[step]?.number ?? 0}
              onChoose={(entry) => go(loaded.entries.indexOf(entry))}
            />
          </PartBoundary>
          <main>
            <Messages messages={conversation.messages} onFork={undefined} />
          </main>
        </div>
      )}
    </div>
  );
}
