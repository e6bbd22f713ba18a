import { memo } from "./memo.js";
import { render } from "../text/markdown.js";

/** A text in Markdown. While it grows, only its last part is drawn again. */
export const Markdown = memo(({ text, growing }: { text: string; growing: boolean }) => (
  <div class="markdown">
    {render(text, growing).map(({ key, html }) => (
      <Piece key={key} html={html} />
    ))}
  </div>
));

const Piece = memo(({ html }: { html: string }) => <div class="piece" dangerouslySetInnerHTML={{ __html: html }} />);
