"""Limits of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of a run; `None` stands for no limit.

    When the run reaches one, the client tells the agent to abort, and the run fails with `RunFailedError`, whose `code` is
    the name of the limit, as `max_turns`. A prompt raises `UsageError` for a limit of something that agents of the dialect
    do not tell.
    """

    max_turns: int | None = None
    """How many turns it may have. It is stopped when another one begins."""
    max_cost: float | None = None
    """How many US dollars it may cost, as the agent tells. It is stopped when another turn begins."""
    max_time: float | None = None
    """How many seconds it may last, from the prompt on."""
    max_equal_calls: int | None = None
    """Number of failures of one call: the same tool with the same arguments, with any error. A call that succeeds with a result that it
    has not just had is progress, after which the counts begin anew."""


def native(limits: RunLimits | None) -> tuple[int | None, float | None, float | None, int | None] | None:
    """The limits as the native core takes them."""
    if limits is None:
        return None
    return (limits.max_turns, limits.max_cost, limits.max_time, limits.max_equal_calls)
