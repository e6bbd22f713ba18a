"""Options of clients."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from agentese.members import DEFAULT, Timeout
from agentese.hints import suggest
from agentese.tap import OnFrame, OnStderr, Tap

CommandArgument: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
"""Argument of a command line."""


class ClientOptions(TypedDict, total=False):
    """Options of every client."""

    revision: str
    """Revision that the agent speaks: `0.55`, `pi@0.55` or `latest`. By default, the client detects the
    revision from the agent's frames."""
    timeout: Timeout
    """Time limit of each call in seconds, in place of the command's own limit. `None` means no limit."""
    overflow: Literal["block", "coalesce", "detach"]
    """Overflow policy for the queue of a subscriber. `block`, the default: the client stops
    reading. `coalesce`: message updates are merged. `detach`: the subscriber receives no further
    events and fails with `DetachedError`."""
    queue_bytes: int
    """Maximum size of an event queue in bytes. Default: 64 MiB."""
    max_line: int
    """Maximum length of a line in bytes. A longer line is skipped, with a diagnostic. Default: 64 MiB."""
    on_frame: OnFrame | None
    """Callback for every frame, in order. It receives `"sent"` or `"received"`, and the text of the frame with
    keys redacted. It runs on its own thread, or on the event loop, shortly after each frame. If more than 16
    MiB of frames wait for it, further frames are dropped and counted in `dropped_frames`. If it raises an
    exception, the exception is logged, and the callback is not called again."""


class SpawnOptions(ClientOptions, total=False):
    """Options of a client that starts a program."""

    on_stderr: OnStderr | None
    """Callback that receives each line of the agent's stderr; the rules of `on_frame` apply."""
    cwd: "str | os.PathLike[str] | None"
    """Working directory of the program."""
    env: Mapping[str, str]
    """Variables added to the inherited environment."""
    env_remove: Sequence[str]
    """Variables removed from the inherited environment."""
    eof_grace: float
    """Time in seconds in which the agent must exit after its stdin is closed, before SIGTERM. Default: 2."""
    term_grace: float
    """Time in seconds in which the agent must exit after SIGTERM, before SIGKILL. Default: 2."""


def dialect(name: str, options: ClientOptions) -> str:
    """Returns the dialect as `NAME@REVISION`, or as `NAME` if the options name no revision."""
    revision = options.get("revision")
    if revision is None:
        return name
    return revision if revision.startswith(f"{name}@") else f"{name}@{revision}"


def check(given: Mapping[str, Any], known: type) -> None:
    """Raises `TypeError` for an unknown option."""
    names = [*known.__annotations__, "dialogs"]
    for name in given:
        if name not in names:
            raise TypeError(f"unknown option `{name}`{suggest(name, names)}")


def connection(options: ClientOptions, tap: Tap) -> dict[str, Any]:
    """Converts the options to the form of the native core."""
    timeout = options.get("timeout", DEFAULT)
    return {
        "overflow": options.get("overflow", "block"),
        "queue_bytes": options.get("queue_bytes", 64 << 20),
        "max_line": options.get("max_line", 64 << 20),
        "timeout": None if timeout is DEFAULT else 1e9 if timeout is None else timeout,
        "wants": tap.wants,
    }


def program(command: Sequence[CommandArgument], options: SpawnOptions) -> dict[str, Any]:
    """Converts a command line and its options to the form of the native core."""
    if isinstance(command, (str, bytes)):
        raise TypeError("the command must be a sequence of arguments, not one string: no shell is involved")
    cwd = options.get("cwd")
    return {
        "command": [os.fsdecode(word) for word in command],
        "cwd": None if cwd is None else os.fspath(cwd),
        "env": list(options.get("env", {}).items()),
        "env_remove": list(options.get("env_remove", ())),
        "eof_grace": options.get("eof_grace", 2.0),
        "term_grace": options.get("term_grace", 2.0),
    }
