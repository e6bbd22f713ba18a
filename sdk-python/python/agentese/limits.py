"""Limits of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of a run; `None` stands for no limit.

    When the run reaches a limit, the client sends an abort, and the run fails with `RunFailedError`. Its `code` is the
    name of the limit, for example `max_turns`. A prompt raises `UsageError` for a limit of an amount that agents of the
    dialect do not report.
    """

    max_turns: int | None = None
    """Maximum number of turns. The run is stopped when another turn begins."""
    max_cost: float | None = None
    """Maximum cost in US dollars, as the agent reports it. The run is stopped when another turn begins."""
    max_time: float | None = None
    """Maximum duration in seconds, from the prompt on."""
    max_equal_calls: int | None = None
    """Maximum number of failures of one call: the same tool with the same arguments, with any error. All counts
    restart if a call succeeds with a result that differs from its previous one."""


def to_native(limits: RunLimits | None) -> tuple[int | None, float | None, float | None, int | None] | None:
    """Returns the limits in the form of the native core."""
    if limits is None:
        return None
    return (limits.max_turns, limits.max_cost, limits.max_time, limits.max_equal_calls)
