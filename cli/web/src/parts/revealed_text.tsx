import { parts } from "../text/hidden.js";

/** Text in which a code such as U+202E replaces each invisible character. */
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
