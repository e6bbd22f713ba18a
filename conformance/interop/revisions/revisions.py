"""Drives any revision of a dialect: `revisions.py DIALECT PROGRAM ARGUMENTS…`. Prints the result as JSON."""

import json
import sys

from agentese import NotInRevisionError, omp, pi

DIALECTS = {"pi": (pi, "get_tree"), "omp": (omp, "get_subagents")}


def main(dialect: str, *command: str) -> None:
    module, newest = DIALECTS[dialect]
    with module.Client.spawn(command) as client:
        texts = []
        for prompt in ("hello there", "use a tool"):
            text = ""
            run = client.prompt(prompt)
            for event in run:
                match event:
                    case module.MessageStart():
                        text = ""
                    case module.MessageUpdate(assistant_message_event=module.TextDelta(delta=piece)):
                        text += piece
            run.result()
            texts.append(text)
        try:
            getattr(client, newest)()
            newer = "answered"
        except NotInRevisionError as error:
            newer = f"not in {error.revision}"
        busy = client.get_state().is_streaming
        odd = [f"{kind}: {text}" for kind, text in client.diagnostics() if kind != "dialog_by_policy"]
        told = {"revision": client.revision, "texts": texts, "newer": newer, "busy": busy, "odd": odd}
    print(json.dumps(told))


main(*sys.argv[1:])
