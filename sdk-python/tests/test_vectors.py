"""The cases that the clients of all languages share, with both clients of this one."""

import json
import os
import time

import pytest
from conftest import ROOT
from support.case_runner import CaseRunner, Loop, Threads, held
from support.driver import LIMIT

FILES = ["client.json", "client_ends.json", "client_failures.json", "client_live.json"]
CASES = [case for name in FILES for case in json.loads((ROOT / "conformance/vectors" / name).read_text())]
IDS = [f"fm_{case['row']} {case['name']}" for case in CASES]


@pytest.mark.parametrize("kind", [Threads, Loop], ids=["threads", "asyncio"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_case(case, kind):
    if "repeat" not in case:
        return CaseRunner(case, kind).play()
    for _ in range(5):
        CaseRunner(case, kind).play()
    before = held()
    for _ in range(int(os.environ.get("AGENTESE_CYCLES", case["repeat"]))):
        CaseRunner(case, kind).play()
    # The descriptors that were closed last may still be open for a moment.
    end = time.monotonic() + LIMIT
    while (after := held()) > before and time.monotonic() < end:
        time.sleep(0.01)
    assert after[0] <= before[0] + 1 and after[1] <= before[1] + 1


def test_the_cases_cover_the_rows_that_name_clients():
    """Checks the rows of the cases. docs/faults.md names the tests of rows without a client in memory or on a pipe."""
    rows = {case["row"] for case in CASES}
    named = {f"F{n:02}" for n in [*range(1, 26), *range(33, 44), 56]}
    # Of servers alone: a parse answer (F07), printing (F22), writing (F24). Of Python alone: the interpreter (F42).
    assert named - rows == {"F07", "F22", "F24", "F42"}
