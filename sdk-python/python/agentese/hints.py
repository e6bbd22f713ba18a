"""What was probably meant by a misspelt name."""

from collections.abc import Iterable
from difflib import get_close_matches


def meant(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """`; did you mean …?`, or nothing where no known name is like that one."""
    close = get_close_matches(name, list(known), 1, likeness)
    return f"; did you mean `{close[0]}`?" if close else ""
