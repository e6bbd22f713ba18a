"""The declaration as clients see it: a dialect with what any of its revisions has."""

import json

from conftest import ROOT

MODEL = json.loads((ROOT / "protocol/model.json").read_text())


def merged():
    """One model for each dialect. A row that several revisions have is the oldest one's."""
    dialects = {}
    for revision in MODEL["dialects"]:
        dialect = dialects.setdefault(revision["name"], dict(revision))
        for rows in ["commands", "events", "dialogs"]:
            known = {row["name"] for row in dialect[rows]}
            dialect[rows] = [*dialect[rows], *(row for row in revision[rows] if row["name"] not in known)]
    return dialects
