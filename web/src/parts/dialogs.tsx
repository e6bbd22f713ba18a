import { useEffect, useRef, useState } from "preact/hooks";
import type { OpenQuestion } from "agentese/ui";

import { answerFrame, dismissFrame } from "../answer.js";
import { useClock, useNow } from "./use.js";

/** All questions that wait for an answer, the oldest first. */
export function Dialogs() {
  const { conversation } = useNow();
  const open = conversation.dialogs;
  useClock(open.some((dialog) => dialog.timeoutMs !== undefined));
  const waiting = open.filter((dialog) => left(dialog) !== 0);
  if (waiting.length === 0) return null;
  return (
    <section class="dialogs" aria-label={`${waiting.length} waiting for your answer`}>
      {waiting.length > 1 && <p class="dialogs-count">{waiting.length} questions wait for an answer</p>}
      {waiting.map((dialog, at) => (
        <Dialog key={dialog.key} dialog={dialog} first={at === 0} />
      ))}
    </section>
  );
}

/** The seconds that are left for an answer. */
function left(dialog: OpenQuestion): number | undefined {
  if (dialog.timeoutMs === undefined || dialog.at === undefined) return undefined;
  return Math.max(0, Math.ceil((dialog.at + dialog.timeoutMs - Date.now()) / 1000));
}

function Dialog({ dialog, first }: { dialog: OpenQuestion; first: boolean }) {
  const { store } = useNow();
  const [text, setText] = useState(dialog.prefill ?? "");
  const title = dialog.title ?? "The agent asks";
  const box = useRef<HTMLFormElement>(null);
  const seconds = left(dialog);
  const reason = store.page.hello?.readOnly ? "agentese web was started with --read-only" : undefined;
  // The keyboard goes to the first question, unless somebody is writing.
  useEffect(() => {
    const isFree = document.activeElement === document.body || (document.activeElement as HTMLTextAreaElement | null)?.value === "";
    if (first && isFree) box.current?.querySelector<HTMLElement>("[data-first]")?.focus();
  }, [first]);
  const spec = store.link.spec;
  const answer = (value: string | boolean): void => {
    if (spec !== undefined) store.link.answer(answerFrame(spec, dialog, value));
  };
  const dismiss = (): void => {
    if (spec !== undefined) store.link.answer(dismissFrame(spec, dialog));
  };
  return (
    <form
      ref={box}
      class="dialog"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault();
        answer(text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        dismiss();
      }}
    >
      <header>
        <h2>{title}</h2>
        {seconds !== undefined && <span class="countdown">{seconds} s left</span>}
      </header>
      {dialog.text !== undefined && dialog.text !== "" && <p class="dialog-text">{dialog.text}</p>}
      <fieldset disabled={reason !== undefined}>
        {dialog.kind === "input" && (
          <input
            data-first
            {...((dialog.secret ? { type: "password" } : { type: "text" }) as { type: "text" })}
            aria-label={title}
            placeholder={dialog.placeholder ?? ""}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        {dialog.kind === "editor" && (
          <textarea
            data-first
            rows={8}
            aria-label={title}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        <div class="dialog-buttons">
          {dialog.kind === "select" &&
            (dialog.options ?? []).map((option, at) => (
              <button key={option} type="button" class={at === 0 ? "primary" : ""} {...(at === 0 && { "data-first": true })} onClick={() => answer(option)}>
                {option}
              </button>
            ))}
          {dialog.kind === "confirm" && (
            <>
              <button type="button" class="primary" data-first onClick={() => answer(true)}>
                Yes
              </button>
              <button type="button" onClick={() => answer(false)}>
                No
              </button>
            </>
          )}
          {(dialog.kind === "input" || dialog.kind === "editor") && (
            <button type="submit" class="primary">
              {dialog.kind === "editor" ? "Done" : "OK"}
            </button>
          )}
          <button type="button" class="quiet" onClick={dismiss}>
            Dismiss
          </button>
        </div>
      </fieldset>
      {reason !== undefined && <p class="note">It cannot be answered here: {reason}.</p>}
    </form>
  );
}
