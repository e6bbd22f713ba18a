"""The test vectors that all languages share, run with both Python clients."""

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
    # Descriptors that were closed last may be open for a moment longer.
    end = time.monotonic() + LIMIT
    while (after := held()) > before and time.monotonic() < end:
        time.sleep(0.01)
    assert after[0] <= before[0] + 1 and after[1] <= before[1] + 1


def test_the_cases_cover_the_rows_that_name_clients():
    """Checks that the cases cover all fault rows about clients. docs/faults.md names the tests of
    the other rows.
    """
    rows = {case["row"] for case in CASES}
    named = {f"F{n:02}" for n in [*range(1, 26), *range(33, 44), 56]}
    # Only servers have the rows for parse errors (F07), printing (F22) and writing (F24). Only
    # Python has the row for the interpreter (F42).
    assert named - rows == {"F07", "F22", "F24", "F42"}
