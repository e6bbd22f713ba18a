import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { pieces, warnings } from "../text/decision.js";
import { Revealed } from "./hidden.jsx";

/** A text that somebody decides on: nothing in it is hidden, and where some of it is out of sight, a line below says so. */
export function Decision({ text }: { text: string }) {
  const box = useRef<HTMLDivElement>(null);
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
  const odd = warnings(text);
  return (
    <>
      {odd.length > 0 && <p class="decision-warning">Look closely: the text has {odd.join(" and ")}.</p>}
      <div
        ref={box}
        class={isOpen ? "dialog-text open" : "dialog-text"}
        tabIndex={0}
        role="region"
        aria-label="The text of the question"
        onScroll={measure}
      >
        {pieces(text).map((piece, at) =>
          piece.isGap ? (
            <span key={at} class="gap">
              {piece.text}
            </span>
          ) : (
            <Revealed key={at} text={piece.text} />
          ),
        )}
      </div>
      {(below > 0 || isOpen) && (
        <p class="decision-more">
          {below > 0 && <b>{below === 1 ? "1 more line" : `${below.toLocaleString("en")} more lines`} below</b>}
          <button type="button" class="link" onClick={() => open(!isOpen)}>
            {isOpen ? "Show less" : "Show more"}
          </button>
        </p>
      )}
    </>
  );
}

/** How many lines of an element lie below what is seen of it. */
function linesBelow(box: HTMLElement): number {
  const left = box.scrollHeight - box.clientHeight - box.scrollTop;
  const height = Number.parseFloat(getComputedStyle(box).lineHeight) || 20;
  return left < height / 2 ? 0 : Math.round(left / height);
}
