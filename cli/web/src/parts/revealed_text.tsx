import { parts } from "../text/hidden.js";

/** Text of a decision in one piece, with invisible characters shown by their numbers. */
export function RevealedText({ text }: { text: string }) {
  const all = parts(text);
  if (!all.some(({ isHidden }) => isHidden)) return <>{text}</>;
  return (
    <bdi>
      {all.map((part, at) =>
        part.isHidden ? (
          <span key={at} class="hidden-character" title="Invisible character">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}
