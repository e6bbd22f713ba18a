/** Conversation that follows the frames of a connection. */

import { type Conversation, emptyConversation } from "./conversation.js";
import { type Direction, fold, meaningOf } from "./fold.js";
import { closeConversation } from "./reducers/run.js";

/** Options of a view. */
export interface ViewOptions {
  /** Stored conversation to continue. */
  readonly stored?: Conversation;
  /**
   * Session to follow, in dialects with several sessions per connection; by default the first one that
   * starts.
   */
  readonly session?: string;
}

/**
 * View that folds the frames of both directions into a conversation. Unreadable frames, and frames without
 * effect, leave the conversation unchanged.
 *
 * `subscribe` and `conversation` fit React's `useSyncExternalStore` and the stores of other libraries.
 */
export class View {
  #conversation: Conversation;
  readonly #listeners = new Set<() => void>();

  private constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** Creates a view for an agent of a dialect. Fails with a `RangeError` if the dialect is unknown. */
  static open(dialect: string, { stored, session }: ViewOptions = {}): View {
    meaningOf(dialect);
    if (stored !== undefined && stored.dialect !== dialect) {
      throw new RangeError(`the conversation is one of "${stored.dialect}", not of "${dialect}"`);
    }
    const conversation = stored ?? emptyConversation(dialect);
    return new View(session === undefined ? conversation : { ...conversation, session: { ...conversation.session, id: session } });
  }

  /** Current conversation. It is immutable, and unchanged parts remain the same objects. */
  get conversation(): Conversation {
    return this.#conversation;
  }

  /** Folds a frame of the client, given as a line or an object. `at` is in milliseconds since the epoch. */
  sent(frame: string | object, at?: number): Conversation {
    return this.#fold("sent", frame, at);
  }

  /** Folds a frame of the agent. */
  received(frame: string | object, at?: number): Conversation {
    return this.#fold("received", frame, at);
  }

  /** Ends all current work with the reason of the end of the connection. */
  close(reason: string): Conversation {
    return this.#update(closeConversation(this.#conversation, reason));
  }

  /** Returns the conversation for storage as JSON. */
  snapshot(): Conversation {
    return this.#conversation;
  }

  /** Commands without parameters whose responses a view needs if it starts in the middle of a session. */
  get catchUpCommands(): readonly string[] {
    return meaningOf(this.#conversation.dialect).asks;
  }

  /** Calls `listener` after every change. Returns a function that removes the listener. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #fold(direction: Direction, frame: string | object, at: number | undefined): Conversation {
    return this.#update(fold(this.#conversation, direction, frame, at));
  }

  #update(next: Conversation): Conversation {
    if (next !== this.#conversation) {
      this.#conversation = next;
      for (const listener of [...this.#listeners]) listener();
    }
    return next;
  }
}
