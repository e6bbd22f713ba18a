/** `pi.events`: what the extensions of one process say to each other. */

import { EventEmitter } from "node:events";

/** A bus on which extensions talk to each other by channel. */
export interface EventBus {
  emit(channel: string, data: unknown): void;
  /** Listens; what it gives ends that. A listener that fails is reported on stderr, the others go on. */
  on(channel: string, handler: (data: unknown) => unknown): () => void;
  clear(): void;
}

/** The bus as one extension sees it: `failed` is called for each failure of one of its listeners. */
export function withFailures(bus: EventBus, failed: (channel: string, error: unknown) => void): EventBus {
  return {
    ...bus,
    on: (channel, handler) =>
      bus.on(channel, async (data) => {
        try {
          await handler(data);
        } catch (error) {
          failed(channel, error);
        }
      }),
  };
}

/** A bus without listeners. */
export function createEventBus(): EventBus {
  const emitter = new EventEmitter();
  emitter.setMaxListeners(0);
  // An emitter treats this name as its own: without a listener it throws.
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
