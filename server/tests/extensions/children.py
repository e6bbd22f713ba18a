"""Starts agents as child processes of its tool, as extensions with subagents do."""

import json
import os
import subprocess
import threading
import time

from agentese_extension import Cancelled, Extension

extension = Extension("children")


class Child:
    """Agent with a model script. Its process id is recorded in `children`."""

    def __init__(self, script):
        words = [os.environ["AGENT"], "--mode", "rpc", "--no-session", "--script", script]
        if "CHILD_EXTENSION" in os.environ:
            words += ["-e", os.environ["CHILD_EXTENSION"]]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        with open("children", "a") as file:
            file.write(f"{self.process.pid}\n")

    def run(self, seen=lambda frame: None):
        """Runs a prompt and returns the text of the last answer."""
        self.process.stdin.write(json.dumps({"type": "prompt", "message": "go"}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            frame = json.loads(line)
            seen(frame)
            if frame["type"] == "agent_end":
                return frame["messages"][-1]["content"][0]["text"]
        raise RuntimeError(f"the child has ended: {self.process.wait()}")

    def end(self):
        self.process.kill()
        self.process.wait()


@extension.tool("child", "Starts an agent", {"type": "object"})
def child(params, context, update):
    how = params["how"]
    if how == "die":
        os._exit(3)
    if how == "spin":
        with open("own", "w") as file:
            file.write(f"{os.getpid()}\n")
        update("spinning")
        while True:
            time.sleep(0.05)
    agent = Child(params["script"])
    over = threading.Event()

    def watch():
        while not over.wait(0.005):
            if context.cancelled.is_set():
                agent.process.kill()

    threading.Thread(target=watch, daemon=True).start()
    try:
        if how == "crash":
            return agent.run(lambda frame: agent.process.kill())
        said = agent.run(lambda frame: update(frame["type"]))
        if how == "reports":
            # The agent is idle, and must handle the message after this run.
            context.send_message("report", said, trigger_turn=True, deliver_as="followUp")
            update("reported")
            context.cancelled.wait(60)
            raise Cancelled
        return said
    finally:
        over.set()
        agent.end()


@extension.tool("long", "Gives a text without end", {"type": "object"})
def long(params, context, update):
    return "x" * (20 << 20)


@extension.tool("stops", "Stops the run from many threads", {"type": "object"})
def stops(params, context, update):
    threads = [threading.Thread(target=context.abort) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Notices arrive in order: after this one, no earlier abort affects later operations.
    context.notify("stopped")
    return "stopped"


extension.run()
