"""Access to recorded sessions, and to the transcript player of the package."""

import json
from pathlib import Path
from typing import Any

from agentese.testing import Player, frame_of, line_of


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the header and the records of a transcript."""
    header, *records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return header, records


__all__ = ["Player", "frame_of", "line_of", "read"]
