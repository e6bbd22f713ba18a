"""An agent, or a bridge, with one defect: `spoil.py DEFECT COMMAND…` runs the command and changes its behaviour."""

import json
import os
import subprocess
import sys

DEFECT, COMMAND = sys.argv[1], sys.argv[2:]


def relay(source: int, target: int) -> None:
    """Forwards lines, and sends each answer twice."""
    with os.fdopen(source, "rb") as lines, os.fdopen(target, "wb") as out:
        for line in lines:
            out.write(line)
            try:
                frame = json.loads(line)
            except ValueError:
                frame = None
            if isinstance(frame, dict) and (frame.get("type") == "response" or "result" in frame or "error" in frame):
                out.write(line)
            out.flush()


if DEFECT == "leaves-a-process":
    subprocess.Popen(
        ["sleep", "600"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
elif DEFECT == "keeps-files":
    for _ in range(100):
        os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
elif DEFECT == "meddles" and os.path.isdir(".git"):
    subprocess.run(["git", "config", "meddled.with", "yes"], check=True)
elif DEFECT == "ignores-the-editor":
    # Removes the editor's file methods from the lines to the agent.
    source, target = os.pipe()
    if os.fork() == 0:
        os.close(source)
        if os.fork() == 0:
            with os.fdopen(target, "wb") as out:
                for line in os.fdopen(0, "rb"):
                    out.write(line.replace(b'"readTextFile":true', b'"readTextFile":false'))
                    out.flush()
        os._exit(0)
    os.close(target)
    os.wait()
    os.dup2(source, 0)
    os.close(source)
elif DEFECT == "answers-twice":
    source, target = os.pipe()
    # The relay must not be a child of the command, because the attack inspects the command's children.
    if os.fork() == 0:
        os.close(target)
        if os.fork() == 0:
            relay(source, 1)
        os._exit(0)
    os.close(source)
    os.wait()
    os.dup2(target, 1)
    os.close(target)

os.execvp(COMMAND[0], COMMAND)
