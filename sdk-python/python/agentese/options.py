"""How clients are made."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from agentese.members import DEFAULT, Timeout
from agentese.hints import meant
from agentese.tap import OnFrame, OnStderr, Tap

Word: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
"""A word of a command line."""


class ClientOptions(TypedDict, total=False):
    """Options of every client."""

    revision: str
    """The revision that the agent speaks: `0.55`, `pi@0.55` or `latest`. Without it the client finds that out from what
    the agent sends."""
    timeout: Timeout
    """How long each call waits for its answer, in seconds, in place of the command's own time limit; `None`: no limit."""
    overflow: Literal["block", "coalesce", "detach"]
    """What happens when the queue of a subscriber is full: the client stops reading (`block`, the default), message
    updates are merged (`coalesce`), or the subscriber gets `DetachedError` (`detach`)."""
    queue_bytes: int
    """How many bytes of events one queue holds. Default: 64 MiB."""
    max_line: int
    """The longest line that is read, in bytes; longer ones are skipped, with a diagnostic. Default: 64 MiB."""
    on_frame: OnFrame | None
    """Called with `"sent"` or `"received"` and the text of every frame, in order, keys taken out: on a thread of its
    own, or on the event loop. It sees frames soon after they pass; where it is more than 16 MiB behind, frames are
    left out and counted in `dropped_frames`. If it raises, that is logged, and it is not called again."""


class SpawnOptions(ClientOptions, total=False):
    """Options of a client that starts a program."""

    on_stderr: OnStderr | None
    """Called with each line that the agent writes to stderr, as `on_frame` is with frames."""
    cwd: "str | os.PathLike[str] | None"
    """The working directory."""
    env: Mapping[str, str]
    """Variables added to the inherited environment."""
    env_remove: Sequence[str]
    """Variables removed from the inherited environment."""
    eof_grace: float
    """How many seconds the agent may take to end after its stdin was closed. Default: 2."""
    term_grace: float
    """How many seconds the agent may take to end after SIGTERM, before SIGKILL. Default: 2."""


def dialect(name: str, options: ClientOptions) -> str:
    """The dialect with the revision that was asked for."""
    revision = options.get("revision")
    if revision is None:
        return name
    return revision if revision.startswith(f"{name}@") else f"{name}@{revision}"


def check(given: Mapping[str, Any], known: type) -> None:
    """Raises `TypeError` for an option that does not exist."""
    names = [*known.__annotations__, "dialogs"]
    for name in given:
        if name not in names:
            raise TypeError(f"unknown option `{name}`{meant(name, names)}")


def connection(options: ClientOptions, tap: Tap) -> dict[str, Any]:
    """Options as the native core takes them."""
    timeout = options.get("timeout", DEFAULT)
    return {
        "overflow": options.get("overflow", "block"),
        "queue_bytes": options.get("queue_bytes", 64 << 20),
        "max_line": options.get("max_line", 64 << 20),
        "timeout": None if timeout is DEFAULT else 1e9 if timeout is None else timeout,
        "wants": tap.wants,
    }


def program(command: Sequence[Word], options: SpawnOptions) -> dict[str, Any]:
    """A program as the native core takes it."""
    if isinstance(command, (str, bytes)):
        raise TypeError("the command must be a sequence of words, not one string: no shell is involved")
    cwd = options.get("cwd")
    return {
        "command": [os.fsdecode(word) for word in command],
        "cwd": None if cwd is None else os.fspath(cwd),
        "env": list(options.get("env", {}).items()),
        "env_remove": list(options.get("env_remove", ())),
        "eof_grace": options.get("eof_grace", 2.0),
        "term_grace": options.get("term_grace", 2.0),
    }
