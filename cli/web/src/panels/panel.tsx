import type { PanelName } from "../parts/header.jsx";
import { PartBoundary } from "../parts/error_boundary.jsx";
import { usePageState } from "../parts/hooks.js";
import { About } from "./about.jsx";
import { Files } from "./files.jsx";
import { Forks } from "./forks.jsx";
import { Inspector } from "../inspector/inspector.jsx";
import { Sessions } from "./sessions.jsx";

const TITLES = { sessions: "Sessions", forks: "Forks", files: "Files changed", inspector: "Inspector", about: "About" } as const;

/** Panel beside the conversation. */
export function Panel({ name, onClose }: { name: PanelName; onClose: () => void }) {
  const { conversation } = usePageState();
  return (
    <aside class={`panel panel-${name}`} aria-label={TITLES[name]}>
      <header>
        <h2>{TITLES[name]}</h2>
        <button type="button" class="quiet" aria-label="Close the panel" onClick={onClose}>
          ×
        </button>
      </header>
      <PartBoundary name="The panel" of={conversation}>
        {name === "sessions" && <Sessions />}
        {name === "forks" && <Forks />}
        {name === "files" && <Files />}
        {name === "inspector" && <Inspector />}
        {name === "about" && <About />}
      </PartBoundary>
    </aside>
  );
}
