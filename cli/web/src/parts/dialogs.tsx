import { useEffect, useRef, useState } from "preact/hooks";
import type { OpenQuestion } from "agentese/ui";

import { answerFrame, dismissFrame } from "../answer.js";
import { isLong } from "../text/decision.js";
import { revealed } from "../text/hidden.js";
import { Decision, Warning } from "./decision.jsx";
import { PartBoundary } from "./error_boundary.jsx";
import { RevealedText } from "./revealed_text.jsx";
import { useClock, usePageState } from "./hooks.js";

/** Maximum number of displayed questions. */
const SHOWN = 20;

/** List of the open questions, oldest first. */
export function Dialogs() {
  const { conversation, page } = usePageState();
  const unshown = page.hello?.unshown ?? 0;
  const open = conversation.dialogs;
  useClock(open.some((dialog) => dialog.timeoutMs !== undefined));
  const waiting = open.filter((dialog) => secondsLeft(dialog) !== 0);
  if (waiting.length + unshown === 0) return null;
  return (
    <section class="dialogs" aria-label={`${waiting.length} open questions`}>
      {unshown > 0 && (
        <p class="dialogs-count">
          {unshown.toLocaleString("en")} more {unshown === 1 ? "question was" : "questions were"} open when this page was loaded, too many to be shown here. A page that was open before can answer {unshown === 1 ? "it" : "them"}.
        </p>
      )}
      {waiting.length > 1 && <p class="dialogs-count">{waiting.length.toLocaleString("en")} questions are open{waiting.length > SHOWN && `; the first ${SHOWN} are shown`}</p>}
      {waiting.slice(0, SHOWN).map((dialog, at) => (
        <PartBoundary key={dialog.key} name="A question" of={dialog}>
          <Dialog dialog={dialog} first={at === 0} />
        </PartBoundary>
      ))}
    </section>
  );
}

/** Returns `true` if the user answers the question with text. */
function hasTextAnswer({ kind }: OpenQuestion): boolean {
  return kind === "input" || kind === "editor";
}

/** Returns the remaining seconds for an answer. */
function secondsLeft(dialog: OpenQuestion): number | undefined {
  if (dialog.timeoutMs === undefined || dialog.at === undefined) return undefined;
  return Math.max(0, Math.ceil((dialog.at + dialog.timeoutMs - Date.now()) / 1000));
}

function Dialog({ dialog, first }: { dialog: OpenQuestion; first: boolean }) {
  const { store } = usePageState();
  const [text, setText] = useState(dialog.prefill ?? "");
  const options = dialog.options ?? [];
  const isNamed = dialog.title !== undefined && dialog.title.trim() !== "" && !isLong(dialog.title);
  const title = isNamed ? (dialog.title ?? "") : "Question of the agent";
  // The question text includes everything that is too long for a line or a button.
  const parts = [isNamed ? undefined : dialog.title, dialog.text, ...options.map((option, at) => (isLong(option) ? `Choice ${at + 1}: ${option}` : undefined))];
  const body = parts.filter((part) => part !== undefined && part !== "").join("\n\n");
  const label = revealed(title);
  const box = useRef<HTMLFormElement>(null);
  const seconds = secondsLeft(dialog);
  const reason = store.page.hello?.readOnly ? "agentese web was started with --read-only" : undefined;
  // The first question receives the focus, unless the user is typing. Buttons never receive it, so that
  // an accidental key press does not answer the question.
  useEffect(() => {
    const isFree = document.activeElement === document.body || (document.activeElement as HTMLTextAreaElement | null)?.value === "";
    if (first && isFree) (box.current?.querySelector<HTMLElement>("[data-first]") ?? box.current)?.focus({ preventScroll: true });
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
      tabIndex={-1}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (hasTextAnswer(dialog)) answer(text);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        dismiss();
      }}
    >
      <header>
        <h2>
          <RevealedText text={title} />
        </h2>
        {seconds !== undefined && <span class="countdown">{seconds} s left</span>}
      </header>
      {body !== "" && <Decision text={body} name="The text of the question" />}
      <fieldset disabled={reason !== undefined}>
        {dialog.kind === "input" && (
          <input
            data-first
            {...((dialog.secret ? { type: "password" } : { type: "text" }) as { type: "text" })}
            aria-label={label}
            placeholder={revealed(dialog.placeholder ?? "")}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        {dialog.kind === "editor" && (
          <textarea
            data-first
            rows={8}
            aria-label={label}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        {hasTextAnswer(dialog) && !dialog.secret && <Warning text={text} />}
        {dialog.kind === "select" && options.length === 0 && (
          <p class="note">The question has no choices that can be shown; the inspector shows the original frame.</p>
        )}
        <div class="dialog-buttons">
          {dialog.kind === "select" &&
            options.map((option, at) => (
              <button key={at} type="button" onClick={() => answer(option)}>
                {isLong(option) ? `Choice ${at + 1}` : <RevealedText text={option} />}
              </button>
            ))}
          {dialog.kind === "confirm" && (
            <>
              {/* The second click of a double click belongs to the previous question. */}
              <button type="button" onClick={({ detail }) => detail < 2 && answer(true)}>
                Yes
              </button>
              <button type="button" onClick={() => answer(false)}>
                No
              </button>
            </>
          )}
          {hasTextAnswer(dialog) && (
            <button type="submit" class="primary">
              {dialog.kind === "editor" ? "Done" : "OK"}
            </button>
          )}
          <button type="button" class="quiet" onClick={dismiss}>
            Dismiss
          </button>
        </div>
      </fieldset>
      {reason !== undefined && <p class="note">This page cannot answer the question: {reason}.</p>}
    </form>
  );
}
