"""Shutdown of agents and threads at the end of the interpreter."""

import atexit
import os
import sys
import threading
import weakref

from agentese import _native

_threads: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


def start(name: str, run: threading.Thread) -> None:
    """Starts a thread that ends by itself when its connection ends."""
    run.name = name
    _threads.add(run)
    run.start()


def _end() -> None:
    # Agents end first, which settles all pending operations. Then the library's threads leave
    # native code, before the interpreter is torn down. Other threads of the program may continue.
    _native.shut_down(6.0)
    for thread in list(_threads):
        if thread is not threading.current_thread():
            thread.join(1.0)
    _native.hold_threads()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_native.forked)
atexit.register(_end)
