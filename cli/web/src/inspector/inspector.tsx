import { useEffect, useState } from "preact/hooks";

import { useStore } from "../parts/hooks.js";
import { FrameTable } from "./frame_table.jsx";

/** Panel that lists all frames of this connection. */
export function Inspector() {
  const { recorder } = useStore();
  const [, redraw] = useState(0);
  useEffect(() => recorder.subscribe(() => redraw((count) => count + 1)), [recorder]);
  return <FrameTable entries={recorder.entries} spec={recorder.spec} dialect={recorder.dialect} dropped={recorder.dropped} />;
}
