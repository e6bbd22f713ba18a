/** Conversation that follows the frames of a connection. */

import { closed } from "./acts/run.js";
import { type Conversation, begin } from "./conversation.js";
import { type Direction, fold, meaningOf } from "./fold.js";

/** Options of a view. */
export interface ViewOptions {
  /** Stored conversation to continue. */
  readonly kept?: Conversation;
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
  static open(dialect: string, { kept, session }: ViewOptions = {}): View {
    meaningOf(dialect);
    if (kept !== undefined && kept.dialect !== dialect) {
      throw new RangeError(`the conversation is one of "${kept.dialect}", not of "${dialect}"`);
    }
    const conversation = kept ?? begin(dialect);
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
    return this.#show(closed(this.#conversation, reason));
  }

  /** Returns the conversation for storage as JSON. */
  snapshot(): Conversation {
    return this.#conversation;
  }

  /** Commands with responses that a late view needs, as far as they take no parameters. */
  get asks(): readonly string[] {
    return meaningOf(this.#conversation.dialect).asks;
  }

  /** Calls `listener` after every change. Returns a function that removes the listener. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #fold(direction: Direction, frame: string | object, at: number | undefined): Conversation {
    return this.#show(fold(this.#conversation, direction, frame, at));
  }

  #show(next: Conversation): Conversation {
    if (next !== this.#conversation) {
      this.#conversation = next;
      for (const listener of [...this.#listeners]) listener();
    }
    return next;
  }
}
