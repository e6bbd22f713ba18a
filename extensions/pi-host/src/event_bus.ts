/** `pi.events`: events between the extensions of one process. */

import { EventEmitter } from "node:events";

/** Event bus with named channels. */
export interface EventBus {
  emit(channel: string, data: unknown): void;
  /**
   * Subscribes to a channel; returns a function that unsubscribes. A failing listener is reported on stderr,
   * and the other listeners still run.
   */
  on(channel: string, handler: (data: unknown) => unknown): () => void;
  clear(): void;
}

/**
 * Returns the bus as one extension uses it. `onFailure` is called for each failure of one of its listeners.
 */
export function withErrorReporting(bus: EventBus, onFailure: (channel: string, error: unknown) => void): EventBus {
  return {
    ...bus,
    on: (channel, handler) =>
      bus.on(channel, async (data) => {
        try {
          await handler(data);
        } catch (error) {
          onFailure(channel, error);
        }
      }),
  };
}

/** Creates a bus without listeners. */
export function createEventBus(): EventBus {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  // The prefix avoids the emitter's special event `error`, which throws without a listener.
  const name = (channel: string): string => `:${channel}`;
  return {
    emit: (channel, data) => void emitter.emit(name(channel), data),
    on(channel, handler) {
      const guarded = async (data: unknown): Promise<void> => {
        try {
          await handler(data);
        } catch (error) {
          console.error(`A listener of "${channel}" failed:`, error);
        }
      };
      emitter.on(name(channel), guarded);
      return () => void emitter.off(name(channel), guarded);
    },
    clear: () => void emitter.removeAllListeners(),
  };
}
