import { parts } from "../text/hidden.js";

/** Text in which each invisible character is replaced by its code point, such as U+202E. */
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
