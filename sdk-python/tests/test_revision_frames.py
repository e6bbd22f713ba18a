"""Frames of real agents of later revisions are decoded and encoded without change:
`conformance/vectors/revisions.jsonl`.
"""

import json
from pathlib import Path

import pytest

from agentese import omp, operator, pi

FRAMES = Path(__file__).parents[2] / "conformance" / "vectors" / "revisions.jsonl"
CASES = [json.loads(line) for line in FRAMES.read_text().splitlines()]


@pytest.mark.parametrize(
    ("revision", "module", "least"),
    [("pi@1.5", pi, 30), ("pi@1.6", pi, 7), ("omp@18.2", omp, 30), ("operator@live", operator, 30)],
)
def test_events_of_later_revisions_are_known_and_come_back_as_they_were(revision, module, least):
    events = [
        case["frame"]
        for case in CASES
        if case["revision"] == revision and case["side"] == "server" and "refused" not in case
    ]
    events = [event for event in events if event["type"] not in ("response", "extension_ui_request", "host_tool_call")]
    assert len(events) > least
    for event in events:
        decoded = module.decode_event(json.dumps(event))
        assert not isinstance(decoded, module.UnknownEvent), event
        assert decoded.to_dict() == event


VECTORS = json.loads((FRAMES.parent / "redaction.json").read_text())


@pytest.mark.parametrize("case", [case for case in VECTORS if "decoded" in case], ids=lambda case: case["name"])
def test_credential_event_keeps_only_its_type(case):
    decoded = operator.decode_event(case["frame"])
    shown = json.loads(case["expect"])
    assert decoded.to_dict() == shown.get("event", shown)
    assert "very-pri" not in repr(decoded)
