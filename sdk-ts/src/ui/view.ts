/** A conversation that grows with the frames that are shown to it. */

import { closed } from "./acts/run.js";
import { type Conversation, begin } from "./conversation.js";
import { type Direction, fold, meaningOf } from "./fold.js";

/** How a view begins. */
export interface ViewOptions {
  /** A conversation that was kept, to go on with. */
  readonly kept?: Conversation;
  /** The session to follow, where a connection has several; without it the first that starts. */
  readonly session?: string;
}

/**
 * Holds the conversation that frames of both directions tell. Frames that say nothing of it, or cannot be read, leave it
 * as it is.
 *
 * `subscribe` and `conversation` fit React's `useSyncExternalStore`, and every store of the other libraries.
 */
export class View {
  #conversation: Conversation;
  readonly #listeners = new Set<() => void>();

  private constructor(conversation: Conversation) {
    this.#conversation = conversation;
  }

  /** A view of an agent that speaks that dialect. Fails with a `RangeError` where no dialect has that name. */
  static open(dialect: string, { kept, session }: ViewOptions = {}): View {
    meaningOf(dialect);
    if (kept !== undefined && kept.dialect !== dialect) {
      throw new RangeError(`the conversation is one of "${kept.dialect}", not of "${dialect}"`);
    }
    const conversation = kept ?? begin(dialect);
    return new View(session === undefined ? conversation : { ...conversation, session: { ...conversation.session, id: session } });
  }

  /** The conversation as it stands. Never changed in place: what did not change is the same object as before. */
  get conversation(): Conversation {
    return this.#conversation;
  }

  /** Shows it a frame that the client sent: a line, or the object in it. `at`: milliseconds since the epoch. */
  sent(frame: string | object, at?: number): Conversation {
    return this.#fold("sent", frame, at);
  }

  /** Shows it a frame that the agent sent. */
  received(frame: string | object, at?: number): Conversation {
    return this.#fold("received", frame, at);
  }

  /** Tells it that the connection has ended: what was going on is over, for that reason. */
  close(reason: string): Conversation {
    return this.#show(closed(this.#conversation, reason));
  }

  /** The conversation, to be kept as JSON and gone on with. */
  snapshot(): Conversation {
    return this.#conversation;
  }

  /** The commands whose answers tell what a view that begins late has missed, as far as they take no parameters. */
  get asks(): readonly string[] {
    return meaningOf(this.#conversation.dialect).asks;
  }

  /** Calls `listener` after every change, until the function that it gives is called. */
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
