"""Speed of the decoding of events: `python bench/decoding.py [--quick]`.

Each client starts the same child, which writes a file of frames. The client reads the type of every event and the delta
of every update, and adds up their number and length. Runs are interleaved; the best run of each client is the result.

`python bench/decoding.py --client NAME FILE COUNT` runs one of them and prints its sums and times;
`--threads NAME FILE COUNT` prints the processor time of Python's thread and of the other threads;
`--write SIZE FILE COUNT` writes a file of frames. tools/bench/clients compares these clients with
clients in other languages.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, os.path.dirname(__file__))
import corpus  # noqa: E402
from agentese import pi  # noqa: E402

# The child keeps its stdout open after the last frame, so that the time for the end of the process
# is not measured.
CHILD = ["sh", "-c", 'read go; cat "$0"; read end']
Count = tuple[int, int]


class Inner(msgspec.Struct):
    delta: str | None = None


class Outer(msgspec.Struct):
    type: str
    assistantMessageEvent: Inner | None = None


async def asyncio_lines(path: str, count: int, decode: Callable[[bytes], Any], delta: Callable[[Any], str | None]) -> Count:
    child = await asyncio.create_subprocess_exec(
        *CHILD, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 26
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(b"go\n")
    seen = characters = 0
    async for line in child.stdout:
        text = delta(decode(line))
        if text is not None:
            characters += len(text)
        seen += 1
        if seen == count:
            break
    child.stdin.close()
    await child.wait()
    return seen, characters


def of_dict(frame: Any) -> str | None:
    if frame["type"] == "message_update":
        text: str = frame["assistantMessageEvent"]["delta"]
        return text
    return None


def of_struct(frame: Outer) -> str | None:
    return frame.assistantMessageEvent.delta if frame.type == "message_update" else None  # type: ignore[union-attr]


async def json_asyncio(path: str, count: int) -> Count:
    return await asyncio_lines(path, count, json.loads, of_dict)


async def orjson_asyncio(path: str, count: int) -> Count:
    import orjson

    return await asyncio_lines(path, count, orjson.loads, of_dict)


async def msgspec_asyncio(path: str, count: int) -> Count:
    return await asyncio_lines(path, count, msgspec.json.Decoder(Outer).decode, of_struct)


class Lines(asyncio.SubprocessProtocol):
    """The minimal client. It decodes the complete lines of each read directly in the callback."""

    def __init__(self, count: int) -> None:
        self.left, self.seen, self.characters, self.count = b"", 0, 0, count
        self.done = asyncio.get_running_loop().create_future()
        self.exited = asyncio.get_running_loop().create_future()
        self.decode = msgspec.json.Decoder(Outer).decode

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        *lines, self.left = (self.left + data).split(b"\n")
        for line in lines:
            text = of_struct(self.decode(line))
            if text is not None:
                self.characters += len(text)
        self.seen += len(lines)
        if self.seen >= self.count and not self.done.done():
            self.done.set_result(None)

    def process_exited(self) -> None:
        self.exited.set_result(None)


async def protocol_asyncio(path: str, count: int) -> Count:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(lambda: Lines(count), *CHILD, path, stderr=None)
    stdin: Any = transport.get_pipe_transport(0)
    stdin.write(b"go\n")
    await protocol.done
    stdin.close()
    await protocol.exited
    transport.close()
    return protocol.seen, protocol.characters


async def msgspec_lines(path: str, count: int) -> Count:
    decode = msgspec.json.Decoder(Outer).decode
    seen = characters = 0
    with subprocess.Popen([*CHILD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
        for line in child.stdout:
            text = of_struct(decode(line))
            if text is not None:
                characters += len(text)
            seen += 1
            if seen == count:
                break
        child.stdin.close()
    return seen, characters


async def agentese_asyncio(path: str, count: int) -> Count:
    seen = characters = 0
    async with pi.AsyncClient.spawn([*CHILD, path]) as client:
        events = client.events()
        client.send_raw("go")
        async for event in events:
            if event.type == "message_update":
                characters += len(event.assistant_message_event.delta)  # type: ignore[union-attr]
            seen += 1
            if seen == count:
                break
    return seen, characters


async def agentese_batches(path: str, count: int) -> Count:
    seen = characters = 0
    async with pi.AsyncClient.spawn([*CHILD, path]) as client:
        events = client.events()
        client.send_raw("go")
        async for batch in events.batches():
            for event in batch:
                if event.type == "message_update":
                    characters += len(event.assistant_message_event.delta)  # type: ignore[union-attr]
            seen += len(batch)
            if seen >= count:
                break
    return seen, characters


async def agentese_threads(path: str, count: int) -> Count:
    seen = characters = 0
    with pi.Client.spawn([*CHILD, path]) as client:
        events = client.events()
        client.send_raw("go")
        for event in events:
            if event.type == "message_update":
                characters += len(event.assistant_message_event.delta)  # type: ignore[union-attr]
            seen += 1
            if seen == count:
                break
    return seen, characters


CLIENTS: dict[str, Callable[[str, int], Awaitable[Count]]] = {
    "asyncio + json.loads": json_asyncio,
    "asyncio + orjson": orjson_asyncio,
    "asyncio + msgspec, two members": msgspec_asyncio,
    "asyncio protocol + msgspec, two members": protocol_asyncio,
    "lines without asyncio + msgspec, two members": msgspec_lines,
    "agentese, asyncio": agentese_asyncio,
    "agentese, asyncio in batches": agentese_batches,
    "agentese, threads": agentese_threads,
}


def measure(path: Path, count: int, rounds: int) -> dict[str, float]:
    """Returns the events per second of each client, in its fastest round."""
    best: dict[str, float] = {}
    sums: set[Count] = set()
    for _ in range(rounds):
        for name, client in CLIENTS.items():
            start = time.perf_counter()
            sums.add(asyncio.run(client(str(path), count)))  # type: ignore[arg-type]
            best[name] = max(best.get(name, 0.0), count / (time.perf_counter() - start))
    assert len(sums) == 1, f"the clients saw different things: {sums}"
    return best


def one(name: str, path: str, count: int) -> None:
    """Runs one client. Prints as JSON the number of events and characters, the elapsed seconds, and the seconds
    of processor time."""
    start, before = time.perf_counter(), time.process_time()
    seen, characters = asyncio.run(CLIENTS[name](path, count))  # type: ignore[arg-type]
    print(json.dumps([seen, characters, time.perf_counter() - start, time.process_time() - before]))


def shares(name: str, path: str, count: int) -> None:
    """Runs one client; prints the processor time per event of Python's thread and of the other threads."""
    whole, own = time.process_time(), time.thread_time()
    asyncio.run(CLIENTS[name](path, count))  # type: ignore[arg-type]
    own = time.thread_time() - own
    others = time.process_time() - whole - own
    print(f"{name}: {own / count * 1e6:.2f} us of Python's thread, {others / count * 1e6:.2f} us of others")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", nargs=3, metavar=("NAME", "FILE", "COUNT"), help="run one client")
    parser.add_argument("--threads", nargs=3, metavar=("NAME", "FILE", "COUNT"), help="run one client, and tell threads apart")
    parser.add_argument("--write", nargs=3, metavar=("SIZE", "FILE", "COUNT"), help="make a file of small or large frames")
    parser.add_argument("--quick", action="store_true", help="fewer frames, once each")
    parser.add_argument("--json", action="store_true", help="machine-readable")
    given = parser.parse_args()
    if given.client:
        name, path, count = given.client
        return one(name, path, int(count))
    if given.threads:
        name, path, count = given.threads
        return shares(name, path, int(count))
    if given.write:
        size, path, count = given.write
        return corpus.write(Path(path), getattr(corpus, size)(int(count)))
    rounds = 1 if given.quick else 7
    sizes = {"small": (corpus.small, 30_000 if given.quick else 600_000), "50 KB": (corpus.large, 300 if given.quick else 4_000)}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for size, (frames, count) in sizes.items():
            path = Path(folder) / "frames.jsonl"
            corpus.write(path, frames(count))
            results[size] = measure(path, count, rounds)
    if given.json:
        print(json.dumps(results))
        return
    for size, rates in results.items():
        base = rates["asyncio + json.loads"]
        print(f"{size} frames")
        for name, rate in rates.items():
            print(f"  {name:32} {rate:12,.0f} events/s  {rate / base:5.2f}x")


if __name__ == "__main__":
    main()
