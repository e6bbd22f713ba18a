import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { pieces, warnings } from "../text/decision.js";
import { highlighted } from "../text/highlight.js";

interface Props {
  readonly text: string;
  /** Label for screen readers. */
  readonly name: string;
  /** Language for syntax colours. */
  readonly language?: string;
}

/**
 * Text about which the user has to decide. No content is hidden, and a line below shows the number of
 * lines that are out of view.
 */
export function Decision({ text, name, language }: Props) {
  const box = useRef<HTMLPreElement>(null);
  const [isOpen, open] = useState(false);
  const [below, setBelow] = useState(0);
  const measure = (): void => {
    const { current } = box;
    if (current) setBelow(linesBelow(current));
  };
  useLayoutEffect(measure, [text, isOpen]);
  useEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div class="decision">
      <Warning text={text} />
      <pre ref={box} class={isOpen ? "decision-text open" : "decision-text"} tabIndex={0} role="region" aria-label={name} onScroll={measure}>
        {pieces(text).map((piece, at) =>
          piece.isGap ? (
            <span key={at} class={`gap ${piece.of}`}>
              {piece.text}
            </span>
          ) : (
            <code key={at} dangerouslySetInnerHTML={{ __html: highlighted(piece.text, language) }} />
          ),
        )}
      </pre>
      {(below > 0 || isOpen) && (
        <p class="decision-more">
          <b>{below === 0 ? "" : below === 1 ? "1 more line below" : `${below.toLocaleString("en")} more lines below`}</b>
          <button type="button" class="link" onClick={() => open(!isOpen)}>
            {isOpen ? "Show less" : "Show more"}
          </button>
        </p>
      )}
    </div>
  );
}

/** Warning about parts of a text that a user could overlook. */
export function Warning({ text }: { text: string }) {
  const all = warnings(text);
  return all.length === 0 ? null : <p class="decision-warning">Look closely: the text has {all.join(" and ")}.</p>;
}

/** Returns the number of lines below the visible part of an element. */
function linesBelow(box: HTMLElement): number {
  const left = box.scrollHeight - box.clientHeight - box.scrollTop;
  const height = Number.parseFloat(getComputedStyle(box).lineHeight) || 20;
  return left < height / 2 ? 0 : Math.round(left / height);
}
