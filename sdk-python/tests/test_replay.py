"""Recorded sessions of all five real agents, replayed to both clients."""

import asyncio
import concurrent.futures
import json
import re
import threading

import pytest
from conftest import ROOT
from support.driver import BOTH, DIALECTS, LIMIT
from support.model import MODEL as DECLARATION
from support.model import merged
from support.peer import playing
from support.replay import Player, frame_of, line_of, read
from support.walk import walk

from agentese import AgenteseError, DecodeError, RefusedError, TerminatedError, UnknownVariant, types
from agentese._native import Record
from agentese.members import encode_members
from agentese.run import SyncRun, accepted

FOLDER = ROOT / "conformance/transcripts"
ODD = {line.split(" server ")[0] for line in (ROOT / "conformance/schema-exceptions.txt").read_text().splitlines() if " server " in line}
# Recordings about framing, whose clients wrote partial lines. Other tests cover framing.
ABOUT_WRITING = re.compile(r"ext-stdout-noise|split-writes|trailing-newline|partial_line|long-line|proto-malformed|proto-empty-lines")
STARTS = {"prompt", "abort_and_prompt", "agent/prompt"}
MODEL, TYPES = merged(), DECLARATION["types"]
# Expected numbers of sessions, prompts and completed runs, as in `conformance/tests/replay.rs`, and
# of compared responses.
EXPECTED = {
    "pi": (96, 139, 136, 405), "omp": (78, 73, 66, 187), "pisces": (36, 60, 45, 23), "operator": (4, 4, 3, 11),
    "opal": (31, 32, 31, 174),
}


def event_of(dialect, line):
    """Returns the event in a line; `None` if the line is not an event."""
    frame = frame_of(line)
    if dialect == "opal":
        return frame.get("params") if frame.get("method") == "agent/event" else None
    kind = frame.get("type")
    if not isinstance(kind, str) or kind in ("response", "extension_ui_request"):
        return None
    return frame["event"] if dialect == "operator" and kind == "event" else frame


def ends_at_work(dialect, records):
    """Returns `True` if the last event about a run means that the run continues."""
    effects = {event["name"]: event.get("run") for event in MODEL[dialect]["events"]}
    works = False
    for record in records:
        event = event_of(dialect, line_of(record)) if record.get("dir") == "s2c" else None
        effect = effects.get(event.get("type")) if event else None
        if effect not in (None, "none"):
            works = effect in ("begins", "holds")
    return works


def answers_of(dialect, records):
    """Returns the recorded responses to lines of the client, by the index of the line."""
    waiting, answers = [], {}
    for at, record in enumerate(records):
        if record.get("dir") not in ("c2s", "s2c"):
            continue
        frame = frame_of(line_of(record))
        # In a flat dialect, a command without an id gets a response without one. In JSON-RPC a
        # client could not attribute such a response.
        key = (frame.get("id"), None if "id" in frame else frame.get("command", frame.get("type")))
        if record["dir"] == "c2s":
            waiting.append((key, at))
        elif frame.get("type") == "response" or dialect == "opal" and frame.get("id") is not None:
            asked = next((asked for asked in waiting if asked[0] == key), None)
            if asked is not None:
                waiting.remove(asked)
                answers[asked[1]] = frame
    return answers


def contested_of(records):
    """Returns the ids of prompts with both a rejection and an acceptance. A client may process them
    in any order.
    """
    refused, contested = set(), set()
    for record in records:
        frame = frame_of(line_of(record)) if record.get("dir") == "s2c" else {}
        if frame.get("type") == "response" and frame.get("command") in STARTS and "id" in frame:
            if is_refused(frame):
                refused.add(frame.get("id"))
            elif frame.get("id") in refused:
                contested.add(frame.get("id"))
    return contested


def refusals_of(records):
    """Returns the texts of all rejections. A prompt may be rejected after its acceptance."""
    said = (frame_of(line_of(record)) for record in records if record.get("dir") == "s2c")
    return {reason(frame) for frame in said if "error" in frame}


def is_refused(answer):
    return "error" in answer or answer.get("success") is False


def reason(answer):
    error = answer["error"]
    return error["message"] if isinstance(error, dict) else error


def plain(value):
    """Returns the JSON value from which an answer was decoded."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def check(told, answer, decoder, listed, states, has_null):
    """Checks that the outcome of a call is the recorded response. `has_null` is true if some
    response has the id null.
    """
    if is_refused(answer):
        assert isinstance(told, RefusedError) and told.message == reason(answer), (told, answer)
    elif isinstance(told, DecodeError):
        # The response to a line that is not JSON has the id null. It may fail the only call that is
        # pending then.
        assert listed or has_null and "its id is null" in str(told), told
    else:
        assert not isinstance(told, BaseException), (told, answer)
        data = answer.get("result", answer.get("data"))
        if answer.get("command") == "get_state":
            # The client also queries the state itself, so the order of the two queries is not
            # fixed.
            assert steady(plain(told)) in states, (told, answer)
        else:
            assert plain(told) == (None if decoder is None else data), (told, answer)
        assert listed or told is None or walk(told) > 0


def fits(command, members):
    """Returns `True` if the typed client can send these members. Some recorded lines are invalid on
    purpose.
    """
    declared = TYPES[command["params"]]["members"]
    try:
        walk(getattr(types, command["params"]).from_dict(members))
    except DecodeError:
        return False
    for member in declared:
        kind = TYPES.get(member["type"].get("type")) if isinstance(member["type"], dict) else None
        if kind and kind["shape"] == "strings" and not kind["open"] and member["name"] in members:
            # A closed enumeration of strings exists only for type checkers. At run time, any string
            # is accepted.
            if members[member["name"]] not in [choice["value"] for choice in kind["values"]]:
                return False
    return True


def steady(state):
    """Returns a state without the member that the player changes in responses to the client's own
    queries.
    """
    return {name: value for name, value in state.items() if name != "isStreaming"}


def play(kind, dialect, path):
    """Replays a session to its end. Checks that events arrive unchanged, responses equal the
    recorded ones, and every run that ends in the recording ends here."""
    _, records = read(path)
    listed = f"{dialect}/{path.stem}" in ODD
    cut = ends_at_work(dialect, records)
    commands = {command["wire"]: command for command in MODEL[dialect]["commands"]}
    module, driver = DIALECTS[dialect], kind()
    answers, refusals, contested = answers_of(dialect, records), refusals_of(records), contested_of(records)
    frames = [frame_of(line_of(record)) for record in records if record.get("dir") == "s2c"]
    has_null = dialect == "opal" and any("error" in frame and frame.get("id") is None for frame in frames)
    asked_for_state = [answer for answer in answers.values() if answer.get("command") == "get_state"]
    states = [steady(answer["data"]) for answer in asked_for_state if not is_refused(answer)]
    counts = {"events": 0, "answers": 0, "prompts": 0, "ended": 0}
    listening, played = threading.Event(), threading.Event()

    def script(peer):
        try:
            assert listening.wait(LIMIT)
            Player(peer.socket, dialect).play(records, cut)
        finally:
            played.set()

    with playing(script) as end:
        with driver.connect(module, end) as client:
            events = client.call("events")
            listening.set()
            runs, waiting = [], []
            pool = Calls(client)
            for at, record in enumerate(records):
                if record.get("dir") == "ctl" and record.get("event") == "exit":
                    break
                if record.get("dir") == "s2c":
                    sent = event_of(dialect, line_of(record))
                    if sent is not None:
                        [event] = client.take(events, 1)
                        assert json.loads(event.raw) == sent
                        # Some real agents send events that their document does not name. The client
                        # delivers them as unknown events.
                        assert isinstance(event, UnknownVariant) == (sent["type"] not in module.EVENTS), event
                        assert listed or walk(event) > 0
                        counts["events"] += 1
                elif record.get("dir") == "c2s":
                    line = line_of(record)
                    frame = frame_of(line)
                    name = frame.get("method" if dialect == "opal" else "type")
                    members = frame.get("params") or {} if dialect == "opal" else {k: v for k, v in frame.items() if k not in ("type", "id")}
                    if name not in commands or not isinstance(members, dict) or None in members.values():
                        client.call("send_raw", line.rstrip("\r"))
                    elif name in STARTS and not fits(commands[name], members):
                        # The id is unused, because the client numbers its own commands.
                        client.call("send_raw", json.dumps({**frame, "id": f"wrong-{at}"}))
                    elif name in STARTS and commands[name]["run"] == "starts":
                        runs.append((frame.get("id"), pool.start(name, members)))
                    else:
                        waiting.append((at, name, pool.request(name, members)))
            for prompt, starting in runs:
                counts["prompts"] += 1
                try:
                    client.wait(pool.started(starting))
                    # If the recording is cut off, the end of the last run depends on timing, so it
                    # is not counted.
                    counts["ended"] += not cut and prompt not in contested
                except RefusedError as refused:
                    assert refused.message in refusals, refused
                except TerminatedError:
                    assert cut
            for at, name, asked in waiting:
                if at in answers:
                    decoder = client.client._data[name]
                    told = pool.answer(asked, decoder)
                    if isinstance(told, RefusedError) and told.attributed:
                        # The rejection did not name its command.
                        assert told.message in refusals, told
                    else:
                        check(told, answers[at], decoder, listed, states, has_null)
                    counts["answers"] += 1
            noise = [told for told in client.client.diagnostics() if told[0] in ("noise", "framing")]
            assert listed or not noise
        # The simulated agent receives the client's last line before its own end is closed.
        end.close()
        assert played.wait(LIMIT)
    return counts


class Calls:
    """Pending calls of a replayed session. They are sent in the order of their creation."""

    def __init__(self, driver):
        self.driver = driver
        self.aio = driver.name == "asyncio"

    def start(self, name, members):
        if self.aio:
            return self._start(name, members)
        return self.driver.client._connection.start(name, encode_members(members), LIMIT)

    def _start(self, name, members):
        async def work():
            return self.driver.client._start(name, members, LIMIT)

        return self.driver.run(work())

    def request(self, name, members):
        if not self.aio:
            return self.driver.client._connection.call(name, encode_members(members), LIMIT)

        async def quiet(call):
            try:
                return await call
            except AgenteseError as error:
                return error

        async def work():
            return asyncio.ensure_future(quiet(self.driver.client._send(name, encode_members(members), LIMIT)))

        return self.driver.run(work())

    def answer(self, asked, decoder):
        if self.aio:

            async def work():
                return await asked

            return self.driver.run(work())
        try:
            asked.wait(LIMIT)
            return asked.take(decoder)
        except AgenteseError as error:
            return error

    def started(self, starting):
        if self.aio:
            return starting
        stream, answer = starting
        accepted(answer)
        return SyncRun(None, "prompt", "", stream)


@pytest.mark.parametrize("kind", BOTH, ids=lambda kind: kind.name)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_every_session_is_played_to_its_end(dialect, kind):
    total = {"sessions": 0, "events": 0, "answers": 0, "prompts": 0, "ended": 0}
    paths = [path for path in sorted((FOLDER / dialect).glob("*.jsonl")) if not ABOUT_WRITING.search(path.stem)]
    # A session mostly waits, so several are replayed concurrently.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        playing_all = {path.stem: pool.submit(play, kind, dialect, path) for path in paths}
    for scenario, played in playing_all.items():
        try:
            counts = played.result()
        except BaseException as error:
            raise AssertionError(f"{dialect}/{scenario}: {error!r}") from error
        total = {name: total[name] + counts.get(name, 1) for name in total}
    counted = tuple(total[name] for name in ["sessions", "prompts", "ended", "answers"])
    assert counted == EXPECTED[dialect], "sessions, prompts, ended runs, answers"
