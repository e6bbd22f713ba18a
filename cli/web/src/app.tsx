import { useCallback, useEffect, useState } from "preact/hooks";
import type { Message as ConversationMessage } from "agentese/ui";

import { Composer } from "./parts/composer.jsx";
import { Dialogs } from "./parts/dialogs.jsx";
import { PartBoundary } from "./parts/error_boundary.jsx";
import { Header, type PanelName } from "./parts/header.jsx";
import { Messages } from "./parts/messages.jsx";
import { Activity, StatusLine, Widgets } from "./parts/status.jsx";
import { Toasts } from "./parts/toasts.jsx";
import { usePageState } from "./parts/hooks.js";
import { Panel } from "./panels/panel.jsx";
import { revealed } from "./text/hidden.js";

/** The complete page. */
export function App() {
  const { store, conversation } = usePageState();
  const [panel, show] = useState<PanelName | undefined>(undefined);
  const openQuestions = conversation.dialogs.length;
  useEffect(() => {
    const name = conversation.title ?? conversation.session.name;
    const mark = openQuestions > 0 ? `(${openQuestions}) ` : conversation.run.working ? "… " : "";
    document.title = `${mark}${name ? `${revealed(name)} – ` : ""}agentese`;
  }, [openQuestions, conversation.run.working, conversation.title, conversation.session.name]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented) {
        if (store.conversation.run.working && store.unavailableReason("abort") === undefined) void store.try("abort");
        else show(undefined);
      }
      if (event.key === "." && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        show((now) => (now === undefined ? "inspector" : undefined));
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [store]);
  const canFork = store.unavailableReason("fork") === undefined && (conversation.forkPoints !== undefined || !store.dialect.forkReturnsText);
  const fork = useCallback((message: ConversationMessage) => void store.forkAt(message), [store]);
  return (
    <div class={panel === undefined ? "app" : "app with-panel"}>
      <PartBoundary name="The page header" of={conversation}>
        <Header panel={panel} onPanel={show} />
      </PartBoundary>
      <main>
        <Messages messages={conversation.messages} onFork={canFork ? fork : undefined}>
          {conversation.messages.length === 0 && <Welcome />}
        </Messages>
        <div class="below">
          <PartBoundary name="The activity of the agent" of={conversation}>
            <Activity />
          </PartBoundary>
          <Dialogs />
          <PartBoundary name="A widget" of={conversation}>
            <Widgets placement="aboveEditor" />
          </PartBoundary>
          <Composer />
          <PartBoundary name="The status line" of={conversation}>
            <Widgets placement="belowEditor" />
            <StatusLine />
          </PartBoundary>
        </div>
      </main>
      {panel !== undefined && <Panel key={panel} name={panel} onClose={() => show(undefined)} />}
      <Toasts />
    </div>
  );
}

function Welcome() {
  const { store, page, conversation } = usePageState();
  if (page.hello === undefined) return <p class="welcome">Connecting…</p>;
  return (
    <div class="welcome">
      <h2>What shall the agent do?</h2>
      <p>
        It works in <code>{page.hello.cwd}</code>
        {conversation.model && (
          <>
            {" "}
            with <b>{conversation.model.name ?? conversation.model.id}</b>
          </>
        )}
        .
      </p>
      {store.unavailableReason("shell") === undefined && (
        <p>
          <kbd>!</kbd> runs a shell command, <kbd>/</kbd> lists commands, <kbd>Ctrl</kbd>+<kbd>.</kbd> shows the frames.
        </p>
      )}
    </div>
  );
}
