import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Completions, completionsFor } from "./completions.jsx";
import { type Delivery, type Picture as PromptPicture } from "../dialects/index.js";
import { hiddenIn } from "../text/hidden.js";
import { Picture } from "./picture.jsx";
import { type AttachedPicture, readPictures } from "./pictures.js";
import { usePageState } from "./hooks.js";

/** Storage key of a session's draft, with a separate key while the session is unknown. */
const draftKey = (session: string | undefined): string => `agentese draft ${session ?? ""}`;
const storedDraft = (session: string | undefined): string => localStorage.getItem(draftKey(session)) ?? "";
const storeDraft = (session: string | undefined, text: string): void =>
  text === "" ? localStorage.removeItem(draftKey(session)) : localStorage.setItem(draftKey(session), text);

/** Input field. Enter sends, Shift+Enter starts a new line, Escape aborts the run. */
export function Composer() {
  const { store, page, conversation } = usePageState();
  const session = conversation.session.id ?? conversation.session.file;
  const [text, setText] = useState(() => storedDraft(undefined));
  // Session that the text belongs to. Text from before the first session, and drafts of the agent,
  // belong to the next session.
  const owner = useRef<string | undefined>(undefined);
  const [pictures, setPictures] = useState<readonly AttachedPicture[]>([]);
  const [chosen, choose] = useState(0);
  const [isClosed, close] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isWorking = conversation.run.working;
  const reason = store.unavailableReason("prompt") ?? (page.ended ? "the agent is not running" : undefined);
  const deliveries = store.dialect.deliveries;
  // The agent may have set this text.
  const hidden = hiddenIn(text);
  const offered = isClosed ? [] : completionsFor(text, conversation.commands ?? []);

  const put = (of: string | undefined, next: string): void => {
    setText(next);
    close(false);
    choose(0);
    if (owner.current === undefined) storeDraft(undefined, "");
    owner.current = of;
    storeDraft(of, next);
  };
  const write = (next: string): void => put(session, next);
  // These three effects run before the next paint, because they read and write the displayed text.
  useLayoutEffect(() => {
    if (session === undefined || session === owner.current) return;
    put(session, owner.current === undefined && text !== "" ? text : storedDraft(session));
  }, [session]);
  // An extension of the agent may set the text, and a fork returns the original text of the message.
  const draft = conversation.draft;
  useLayoutEffect(() => {
    if (draft !== undefined) put(undefined, draft.text);
  }, [draft?.count]);
  useLayoutEffect(() => {
    if (page.draft !== undefined) put(undefined, page.draft.text);
  }, [page.draft?.count]);
  useEffect(() => {
    const { current } = field;
    if (!current) return;
    current.style.height = "auto";
    current.style.height = `${Math.min(current.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);
  useEffect(() => field.current?.focus(), []);

  const send = async (delivery: Delivery): Promise<void> => {
    const input = text.trim();
    if ((input === "" && pictures.length === 0) || reason !== undefined) return;
    if (isWorking && deliveries.length === 0) return store.toast("info", "The agent is busy: wait, or stop it first.");
    const noShell = store.dialect.actions.shell && input.startsWith("!") ? store.unavailableReason("shell") : undefined;
    // Input for the shell must never be sent to the model.
    if (noShell !== undefined) return store.toast("warning", `The command was not run: ${noShell}.`);
    const images: PromptPicture[] = pictures.map(({ mimeType, data }) => ({ mimeType, data }));
    write("");
    setPictures([]);
    const isShell = input.startsWith("!") && store.unavailableReason("shell") === undefined;
    const done = isShell
      ? await store.try("shell", input.slice(1).trim())
      : await store.try("prompt", input, images, isWorking ? delivery : "prompt");
    // Rejected input is put back into the field.
    if (done === undefined && field.current?.value === "") {
      write(input);
      setPictures(pictures);
    }
  };
  const attach = async (files: Iterable<File>): Promise<void> => {
    if (!store.dialect.pictures) return store.toast("warning", `The ${page.hello?.dialect} dialect does not support pictures in prompts.`);
    const { read, rejected } = await readPictures(files);
    setPictures((before) => [...before, ...read]);
    for (const why of rejected) store.toast("warning", why);
  };
  const take = (at: number): void => {
    const command = offered[at];
    if (command === undefined) return;
    write(`/${command.name} `);
    close(true);
    field.current?.focus();
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (offered.length > 0) {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        return choose((chosen + step + offered.length) % offered.length);
      }
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && text.slice(1) !== offered[chosen]?.name)) {
        event.preventDefault();
        return take(chosen);
      }
      if (event.key === "Escape") {
        event.stopPropagation();
        return close(true);
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send(event.altKey ? (deliveries[1] ?? "prompt") : (deliveries[0] ?? "prompt"));
    }
  };
  return (
    <form
      class="composer"
      aria-label="Message to the agent"
      onSubmit={(event) => {
        event.preventDefault();
        void send(deliveries[0] ?? "prompt");
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
    >
      {offered.length > 0 && <Completions offered={offered} chosen={chosen} onTake={take} />}
      {pictures.length > 0 && (
        <ul class="attached">
          {pictures.map((picture, at) => (
            <li key={picture.key}>
              <Picture mimeType={picture.mimeType} data={picture.data} name={picture.name} />
              <button
                type="button"
                aria-label={`Remove ${picture.name}`}
                onClick={() => setPictures(pictures.filter((_, other) => other !== at))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {hidden.length > 0 && <p class="decision-warning">The text has invisible characters ({hidden.slice(0, 5).join(", ")}).</p>}
      <textarea
        ref={field}
        rows={1}
        value={text}
        disabled={reason !== undefined}
        placeholder={reason ?? (isWorking && deliveries.length > 0 ? "Steer the agent while it works…" : "Ask the agent, or / for commands…")}
        aria-label="Message"
        aria-autocomplete="list"
        aria-controls={offered.length > 0 ? "completions" : undefined}
        aria-activedescendant={offered.length > 0 ? `completion-${chosen}` : undefined}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={pressed}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0) return;
          event.preventDefault();
          void attach(files);
        }}
      />
      <div class="composer-bar">
        {store.dialect.pictures && (
          <label class="button quiet" title="Add pictures, or paste or drop them">
            <span aria-hidden="true">+</span> Picture
            <input
              type="file"
              class="hidden-file"
              accept="image/png,image/jpeg,image/gif,image/webp"
              multiple
              disabled={reason !== undefined}
              onChange={(event) => {
                void attach(event.currentTarget.files ?? []);
                event.currentTarget.value = "";
              }}
            />
          </label>
        )}
        <span class="hint">{hint(isWorking, deliveries)}</span>
        {isWorking && store.unavailableReason("abort") === undefined && (
          <button type="button" class="stop" onClick={() => void store.try("abort")}>
            {conversation.run.aborting ? "Stopping…" : "Stop"}
          </button>
        )}
        {isWorking && deliveries.includes("followUp") && (
          <button type="button" disabled={text.trim() === ""} onClick={() => void send("followUp")} title="Alt+Enter">
            Follow up
          </button>
        )}
        {(!isWorking || deliveries.length > 0) && (
          <button type="submit" class="primary" disabled={reason !== undefined || (text.trim() === "" && pictures.length === 0)}>
            {isWorking ? "Steer" : "Send"}
          </button>
        )}
      </div>
    </form>
  );
}

function hint(isWorking: boolean, deliveries: readonly Delivery[]): string {
  if (!isWorking) return "Enter sends · Shift+Enter new line";
  if (deliveries.length === 0) return "Esc stops";
  return deliveries.length > 1 ? "Enter steers · Alt+Enter follows up · Esc stops" : "Enter steers · Esc stops";
}
