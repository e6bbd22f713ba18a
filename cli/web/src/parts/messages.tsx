import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Message as ConversationMessage } from "agentese/ui";

import { memo } from "./memo.js";
import { Message } from "./message.jsx";

/** Number of messages in a chunk. The messages of a chunk are drawn or omitted together. */
const CHUNK = 25;
/** Assumed height in pixels of a chunk that has not been drawn yet. */
const TALL = 3000;
/** Distance from the visible area within which a chunk is drawn. */
const NEAR = "1500px 0px";
/** Maximum distance from the end, in pixels, at which the view follows new messages. */
const FOLLOW = 80;

/** Messages of the conversation. Chunks far from the visible area are not drawn. */
export function Messages({
  messages,
  onFork,
  children,
}: {
  messages: readonly ConversationMessage[];
  onFork: ((message: ConversationMessage) => void) | undefined;
  children?: ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const [isAway, away] = useState(false);
  const chunks = split(messages);

  const toEnd = (): void => {
    const { current } = box;
    if (current) current.scrollTop = current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (following.current) toEnd();
  });
  // Pictures and newly drawn chunks change the height even if the messages do not change.
  useEffect(() => {
    if (!inner.current) return undefined;
    const observer = new ResizeObserver(() => following.current && toEnd());
    observer.observe(inner.current);
    return () => observer.disconnect();
  }, []);
  const scrolled = (): void => {
    const { current } = box;
    if (!current) return;
    following.current = current.scrollHeight - current.scrollTop - current.clientHeight < FOLLOW;
    away(!following.current);
  };
  return (
    <div class="scroller-box">
      <div class="scroller" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label="Conversation" aria-live="off">
        <div class="conversation" ref={inner}>
          {chunks.map((chunk, at) => (
            <Chunk key={chunk[0]?.key ?? at} messages={chunk} onFork={onFork} last={at >= chunks.length - 2} box={box} />
          ))}
          {children}
        </div>
      </div>
      {isAway && (
        <button
          type="button"
          class="to-end"
          onClick={() => {
            following.current = true;
            toEnd();
          }}
        >
          ↓ To the end
        </button>
      )}
    </div>
  );
}

/** Chunks of the previous call of `split`. An unchanged chunk remains the same object. */
let known: (readonly ConversationMessage[])[] = [];

function split(messages: readonly ConversationMessage[]): (readonly ConversationMessage[])[] {
  const chunks: (readonly ConversationMessage[])[] = [];
  for (let at = 0; at < messages.length; at += CHUNK) {
    const chunk = messages.slice(at, at + CHUNK);
    const before = known[chunks.length];
    const isSame = before?.length === chunk.length && chunk.every((message, index) => message === before[index]);
    chunks.push(isSame ? before : chunk);
  }
  known = chunks;
  return chunks;
}

interface ChunkProps {
  messages: readonly ConversationMessage[];
  onFork: ((message: ConversationMessage) => void) | undefined;
  last: boolean;
  box: RefObject<HTMLDivElement | null>;
}

const Chunk = memo(({ messages, onFork, last, box }: ChunkProps) => <ChunkBody {...{ messages, onFork, last, box }} />);

function ChunkBody({ messages, onFork, last, box }: ChunkProps) {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, near] = useState(false);
  const height = useRef(Math.min(TALL, messages.length * 120));
  useEffect(() => {
    const { current } = place;
    if (!current) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry) return;
        // A chunk that is no longer drawn keeps its height.
        if (!entry.isIntersecting && entry.boundingClientRect.height > 0) height.current = entry.boundingClientRect.height;
        near(entry.isIntersecting);
      },
      { root: box.current, rootMargin: NEAR },
    );
    observer.observe(current);
    return () => observer.disconnect();
  }, [box]);
  const isDrawn = last || isNear;
  return (
    <div ref={place} class="chunk" style={isDrawn ? {} : { height: `${height.current}px` }}>
      {isDrawn && messages.map((message) => <Message key={message.key} message={message} onFork={onFork} />)}
    </div>
  );
}
