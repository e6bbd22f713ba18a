"""Suggestions for misspelt names."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Returns `; did you mean …?`, or an empty text if no known name is similar."""
    close = get_close_matches(name, list(known), 1, likeness)
    return f"; did you mean `{close[0]}`?" if close else ""
