"""MCP server that misbehaves as a test requests. Needs only Python.

Options: `--log FILE` records the name of every received message; `--pid FILE` records its process id;
`--slow S` answers the first request after S seconds; `--never` never answers; `--junk` prints lines that are
not messages; `--stubborn` continues after the end of its input and ignores SIGTERM; `--crash` exits at once;
`--crash-after N` exits at the Nth call of a tool; `--restless` announces a change after each list of its
tools; `--tools N` and `--prompts N` set their numbers, `--page N` the page size; `--endless` offers an
endless list of pages; `--odd` adds tools and prompts that do not fit the protocol.
"""

import json
import os
import signal
import subprocess
import sys
import time


def option(name):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def log(word):
    if path := option("--log"):
        with open(path, "a") as file:
            file.write(word + "\n")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name, description="A tool of the zoo.", /, **properties):
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }


TEXT = {"type": "string"}
TOOLS = [
    tool("echo", text=TEXT),
    tool("read", "Has the name of a tool of the agent."),
    tool("die"),
    tool("hang"),
    tool("freeze"),
    tool("huge", size={"type": "integer"}),
    tool("endless"),
    tool("fail"),
    tool("refuse"),
    tool("child", file=TEXT),
    tool("variable", name=TEXT),
    tool("grow"),
    tool("works", steps={"type": "integer"}, file=TEXT),
]
PROMPTS = [{"name": "feed", "arguments": [{"name": "animal", "required": True}]}]
if "--odd" in sys.argv:
    TOOLS[1:1] = [
        {"name": "null", "inputSchema": None},
        {"name": "missing"},
        {"name": "text", "inputSchema": {"type": "string"}},
    ]
    TOOLS.append(tool("parts"))
    PROMPTS.insert(0, {"name": "broken", "arguments": 7})
calls = 0


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(number, name, arguments, token):
    global calls
    calls += 1
    if option("--crash-after") == str(calls) or name == "die":
        print("I do not feel well", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        return
    if name == "freeze":
        time.sleep(3600)
    if name == "endless":
        sys.stdout.write("x" * (17 << 20))
        sys.stdout.flush()
        time.sleep(3600)
    if name == "refuse":
        return say({"id": number, "error": {"code": -32000, "message": "not today"}})
    if name == "child":
        child = subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL)
        with open(arguments["file"], "w") as file:
            file.write(f"{child.pid}\n")
    if name == "grow":
        TOOLS.append(tool("grown"))
        PROMPTS.append({"name": "grown"})
        say({"method": "notifications/tools/list_changed"})
    if name == "works":
        # The given number of steps, or until the file exists.
        step, steps, file = 0, arguments.get("steps"), arguments.get("file")
        while step < steps if steps else not os.path.exists(file):
            step += 1
            progress = {"progressToken": token, "progress": step}
            say({"method": "notifications/progress", "params": progress})
            time.sleep(0.02)
    results = {
        "echo": lambda: text("zoo: " + arguments.get("text", "")),
        "huge": lambda: text("line of text\n" * (arguments["size"] // 13)),
        "parts": lambda: {
            "content": [{"type": "text", "text": "before"}, {"type": "hologram"}, {"type": "image"}]
        },
        "fail": lambda: text("it did not work", isError=True),
        "variable": lambda: text(os.environ.get(arguments["name"], "not set")),
    }
    say({"id": number, "result": results.get(name, lambda: text(f"{name} is done"))()})


def page(kind, items, params):
    if "--endless" in sys.argv:
        return {kind: [], "nextCursor": "on"}
    if count := option("--" + kind):
        items = items + [{**items[0], "name": f"more{i}"} for i in range(int(count) - len(items))]
    size = int(option("--page") or len(items))
    start = int(params.get("cursor") or 0)
    more = {"nextCursor": str(start + size)} if start + size < len(items) else {}
    return {kind: items[start : start + size], **more}


def main():
    if path := option("--pid"):
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\n")
    if "--crash" in sys.argv:
        print("no zoo today", file=sys.stderr, flush=True)
        os._exit(7)
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "--junk" in sys.argv:
        print("Welcome to the zoo!")
        print('{"jsonrpc": "2.0", "half')
        print('{"neither": "fish"}', flush=True)
    slow = float(option("--slow") or 0)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method", "answer"), message.get("id")
        log(method)
        if "--never" in sys.argv:
            continue
        time.sleep(slow)
        slow = 0
        params = message.get("params") or {}
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}, "prompts": {}}
            version = params["protocolVersion"]
            result = {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": {"name": "zoo", "version": "1"},
            }
            say({"id": number, "result": result})
        elif method == "tools/list":
            say({"id": number, "result": page("tools", TOOLS, params)})
            if "--restless" in sys.argv:
                say({"method": "notifications/tools/list_changed"})
        elif method == "prompts/list":
            say({"id": number, "result": page("prompts", PROMPTS, params)})
        elif method == "prompts/get":
            words = "Feed the " + params["arguments"]["animal"]
            said = [{"role": "user", "content": {"type": "text", "text": words}}]
            say({"id": number, "result": {"messages": said}})
        elif method == "tools/call":
            token = params.get("_meta", {}).get("progressToken")
            call(number, params["name"], params.get("arguments") or {}, token)
        elif number is not None:
            say({"id": number, "result": {}})
    while "--stubborn" in sys.argv:
        time.sleep(1)


main()
