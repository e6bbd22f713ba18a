import { useEffect, useRef } from "preact/hooks";

import { LONG_AGO } from "../store.js";
import { usePageState } from "./hooks.js";
import { RevealedText } from "./revealed_text.jsx";

/** Temporary messages of the page, and notices of the agent. */
export function Toasts() {
  const { store, page, conversation } = usePageState();
  const seen = useRef<string | undefined>(undefined);
  const last = conversation.notices.at(-1);
  useEffect(() => {
    if (last === undefined || last.key === seen.current) return;
    seen.current = last.key;
    if (last.at === LONG_AGO) return;
    // The caller of a rejected command already displays the failure.
    if (last.source !== undefined && store.link.spec !== undefined && Object.hasOwn(store.link.spec.commands, last.source)) return;
    store.toast(last.level, last.source ? `${last.source}: ${last.text}` : last.text);
  }, [last?.key]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {page.toasts.map((toast) => (
        <div key={toast.key} class={`toast ${toast.level}`}>
          <span>
            <RevealedText text={toast.text} />
          </span>
          <button type="button" class="quiet" aria-label="Close" onClick={() => store.dismiss(toast.key)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
