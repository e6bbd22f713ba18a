import { parts } from "../text/hidden.js";

/** A text in one piece that somebody decides on: characters that nobody sees are shown by their numbers. */
export function Revealed({ text }: { text: string }) {
  const all = parts(text);
  if (!all.some(({ isHidden }) => isHidden)) return <>{text}</>;
  return (
    <bdi>
      {all.map((part, at) =>
        part.isHidden ? (
          <span key={at} class="hidden-character" title="A character that would not be seen">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}
