import { RevealedText } from "./revealed_text.jsx";

interface Command {
  readonly name: string;
  readonly description?: string;
  readonly source?: string;
}

/** Maximum number of commands that are offered. */
const MAX_OFFERED = 8;

/** Returns the commands whose names begin with the text of the input field. */
export function completionsFor(text: string, commands: readonly Command[]): readonly Command[] {
  const prefix = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  if (prefix === undefined) return [];
  const starts = commands.filter(({ name }) => name.toLowerCase().startsWith(prefix));
  const holds = commands.filter(({ name }) => !starts.some((one) => one.name === name) && name.toLowerCase().includes(prefix));
  return [...starts, ...holds].slice(0, MAX_OFFERED);
}

export function Completions({ offered, chosen, onTake }: { offered: readonly Command[]; chosen: number; onTake: (at: number) => void }) {
  return (
    <ul class="completions" id="completions" role="listbox" aria-label="Commands">
      {offered.map((command, at) => (
        <li
          key={command.name}
          id={`completion-${at}`}
          role="option"
          aria-selected={at === chosen}
          onMouseDown={(event) => {
            event.preventDefault();
            onTake(at);
          }}
        >
          <b>
            /<RevealedText text={command.name} />
          </b>{" "}
          <span>
            <RevealedText text={command.description ?? ""} />
          </span>{" "}
          <i>{command.source}</i>
        </li>
      ))}
    </ul>
  );
}
