"""The declaration in the form that clients use: each dialect with the rows of all its revisions."""

import json

from conftest import ROOT

MODEL = json.loads((ROOT / "protocol/model.json").read_text())


def merged():
    """Returns one model for each dialect. A row that several revisions declare is taken from the
    oldest of them.
    """
    dialects = {}
    for revision in MODEL["dialects"]:
        dialect = dialects.setdefault(revision["name"], dict(revision))
        for rows in ["commands", "events", "dialogs"]:
            known = {row["name"] for row in dialect[rows]}
            dialect[rows] = [*dialect[rows], *(row for row in revision[rows] if row["name"] not in known)]
    return dialects
