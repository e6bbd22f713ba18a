import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Conversation } from "agentese/ui";

import type { Page, Store } from "../store.js";

export const StoreContext = createContext<Store | undefined>(undefined);

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === undefined) throw new Error("there is no store");
  return store;
}

/** Returns the current conversation and the state of the page. */
export function usePageState(): { store: Store; page: Page; conversation: Conversation } {
  const store = useStore();
  const [, redraw] = useState(0);
  // The subscription must precede the first effect. Otherwise a change between the first paint and an
  // effect would be missed.
  useLayoutEffect(() => store.subscribe(() => redraw((count) => count + 1)), [store]);
  return { store, page: store.page, conversation: store.conversation };
}

/** Redraws the component periodically while `on` is `true`, so that displayed times advance. */
export function useClock(on: boolean, every = 500): void {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), every);
    return () => clearInterval(timer);
  }, [on, every]);
}
