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

/** The conversation and what stands beside it, as they are now. */
export function useNow(): { store: Store; page: Page; conversation: Conversation } {
  const store = useStore();
  const [, redraw] = useState(0);
  // Before anything else can run: what changes between the first picture and an effect would not be drawn.
  useLayoutEffect(() => store.subscribe(() => redraw((count) => count + 1)), [store]);
  return { store, page: store.page, conversation: store.conversation };
}

/** A number that counts up while `on`, so that times on the page go on. */
export function useClock(on: boolean, every = 500): void {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => redraw((count) => count + 1), every);
    return () => clearInterval(timer);
  }, [on, every]);
}
