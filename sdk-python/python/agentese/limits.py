"""Limits of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of a run. `None` means no limit.

    When the run reaches a limit, the client sends an abort, and the run fails with `RunFailedError`. The
    `code` of the error is the name of the limit, for example `max_turns`. A prompt raises `UsageError` if
    agents of the dialect do not report the value that a limit needs.
    """

    max_turns: int | None = None
    """Maximum number of turns. The run is stopped when it begins a turn beyond this number."""
    max_cost: float | None = None
    """Maximum cost in US dollars, as the agent reports it. When the cost is reached, the run is stopped at the
    beginning of the next turn."""
    max_time: float | None = None
    """Maximum duration in seconds, from the prompt on."""
    max_equal_calls: int | None = None
    """Maximum number of times that the same call fails: the same tool with the same arguments. The
    errors may differ. All counters restart at zero when a call succeeds with a new result."""


def to_native(limits: RunLimits | None) -> tuple[int | None, float | None, float | None, int | None] | None:
    """Converts the limits to the form of the native core."""
    if limits is None:
        return None
    return (limits.max_turns, limits.max_cost, limits.max_time, limits.max_equal_calls)
