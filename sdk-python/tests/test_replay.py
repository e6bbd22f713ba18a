"""Recorded sessions of all five real agents, played to both clients."""

import asyncio
import concurrent.futures
import json
import re
import threading

import pytest
from conftest import ROOT
from support.driver import BOTH, DIALECTS
from support.peer import playing
from support.replay import Player, frame_of, line_of, read
from support.walk import walk

from agentese import AgenteseError, RefusedError, TerminatedError, Unknown
from agentese.members import encode_members
from agentese.run import SyncRun, accepted

FOLDER = ROOT / "conformance/transcripts"
ODD = {line.split(" server ")[0] for line in (ROOT / "conformance/schema-exceptions.txt").read_text().splitlines() if " server " in line}
# Recordings that are about framing, whose clients wrote half lines; the framing has tests of its own.
ABOUT_WRITING = re.compile(r"ext-stdout-noise|split-writes|trailing-newline|partial_line|long-line|proto-malformed|proto-empty-lines")
STARTS = {"prompt", "abort_and_prompt", "agent/prompt"}
MODEL = {d["name"]: d for d in json.loads((ROOT / "protocol/model.json").read_text())["dialects"]}


def event_of(dialect, line):
    """The event that a line carries; nothing where it is something else."""
    frame = frame_of(line)
    if dialect == "opal":
        return frame.get("params") if frame.get("method") == "agent/event" else None
    kind = frame.get("type")
    if not isinstance(kind, str) or kind in ("response", "extension_ui_request"):
        return None
    return frame["event"] if dialect == "operator" and kind == "event" else frame


def ends_at_work(dialect, records):
    """Whether the last event that says something about a run says that it goes on."""
    effects = {event["name"]: event.get("run") for event in MODEL[dialect]["events"]}
    works = False
    for record in records:
        event = event_of(dialect, line_of(record)) if record.get("dir") == "s2c" else None
        effect = effects.get(event.get("type")) if event else None
        if effect not in (None, "none"):
            works = effect in ("begins", "holds")
    return works


def play(kind, dialect, path):
    """Plays a session to its end: events arrive as they were sent, and every run that ends there ends here."""
    _, records = read(path)
    listed = f"{dialect}/{path.stem}" in ODD
    cut = ends_at_work(dialect, records)
    commands = {command["wire"]: command for command in MODEL[dialect]["commands"]}
    module, driver = DIALECTS[dialect], kind()
    counts = {"events": 0, "prompts": 0, "ended": 0}
    listening = threading.Event()

    def script(peer):
        assert listening.wait(20)
        Player(peer.socket, dialect == "opal").play(records, cut)

    with playing(script) as end:
        with driver.connect(module, end) as client:
            events = client.call("events")
            listening.set()
            runs, waiting = [], []
            pool = Calls(client)
            for record in records:
                if record.get("dir") == "ctl" and record.get("event") == "exit":
                    break
                if record.get("dir") == "s2c":
                    sent = event_of(dialect, line_of(record))
                    if sent is not None:
                        [event] = client.take(events, 1)
                        assert json.loads(event.raw) == sent
                        # Some real agents send what their document does not name: it is kept.
                        assert isinstance(event, Unknown) == (sent["type"] not in module.EVENTS), event
                        assert listed or walk(event) > 0
                        counts["events"] += 1
                elif record.get("dir") == "c2s":
                    line = line_of(record)
                    frame = frame_of(line)
                    name = frame.get("method" if dialect == "opal" else "type")
                    members = frame.get("params") or {} if dialect == "opal" else {k: v for k, v in frame.items() if k not in ("type", "id")}
                    if name not in commands or not isinstance(members, dict) or None in members.values():
                        client.call("send_raw", line.rstrip("\r"))
                    elif name in STARTS and commands[name]["run"] == "starts":
                        runs.append(pool.start(name, members))
                    else:
                        waiting.append(pool.request(name, members))
            for starting in runs:
                counts["prompts"] += 1
                try:
                    client.result(pool.started(starting))
                    counts["ended"] += 1
                except RefusedError:
                    pass
                except TerminatedError:
                    assert cut
            noise = [told for told in client.client.diagnostics() if told[0] in ("noise", "framing")]
            assert listed or not noise
    return counts


class Calls:
    """Calls that wait for their answers while the session goes on. They are sent in the order of their making."""

    def __init__(self, driver):
        self.driver = driver
        self.aio = driver.name == "asyncio"

    def start(self, name, members):
        if self.aio:
            return self._start(name, members)
        return self.driver.client._connection.start(name, encode_members(members), 20.0)

    def _start(self, name, members):
        async def work():
            return self.driver.client._start(name, members, 20.0)

        return self.driver.run(work())

    def request(self, name, members):
        if not self.aio:
            return self.driver.client._connection.call(name, encode_members(members), 20.0)

        async def quiet(call):
            try:
                await call
            except AgenteseError:
                pass

        async def work():
            return asyncio.ensure_future(quiet(self.driver.client._call(name, members, 20.0)))

        return self.driver.run(work())

    def started(self, starting):
        if self.aio:
            return starting
        stream, answer = starting
        accepted(answer)
        return SyncRun(None, "prompt", "", stream)


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_every_session_is_played_to_its_end(dialect, kind):
    total = {"sessions": 0, "events": 0, "prompts": 0, "ended": 0}
    paths = [path for path in sorted((FOLDER / dialect).glob("*.jsonl")) if not ABOUT_WRITING.search(path.stem)]
    # They wait more than they work: several are played side by side.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        playing_all = {path.stem: pool.submit(play, kind, dialect, path) for path in paths}
    for scenario, played in playing_all.items():
        try:
            counts = played.result()
        except BaseException as error:
            raise AssertionError(f"{dialect}/{scenario}: {error!r}") from error
        total = {name: total[name] + counts.get(name, 1) for name in total}
    print(total)
    assert total["sessions"] > 2 and total["ended"] > 1, total
