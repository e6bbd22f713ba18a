"""A common interface to both clients, so that each test is written once."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

from agentese import omp, opal, operator, pi, pisces

DIALECTS = {"pi": pi, "omp": omp, "pisces": pisces, "operator": operator, "opal": opal}
LIMIT = 60.0
"""Time limit of every wait in these tests, in seconds: long enough for any busy machine."""


class ThreadsDriver:
    """Driver of the client for threads."""

    name = "threads"

    @contextlib.contextmanager
    def spawn(self, dialect: Any, command: list[str], **options: Any) -> Iterator["ThreadsDriver"]:
        with dialect.Client.spawn(command, **options) as self.client:
            yield self

    @contextlib.contextmanager
    def connect(self, dialect: Any, end: socket.socket, **options: Any) -> Iterator["ThreadsDriver"]:
        with dialect.Client.connect(end, **options) as self.client:
            yield self

    def call(self, name: str, *args: Any, **params: Any) -> Any:
        return getattr(self.client, name)(*args, **params)

    def events(self, run: Any) -> list[Any]:
        return list(run)

    def take(self, events: Any, count: int) -> list[Any]:
        return [next(events) for _ in range(count)]

    def result(self, run: Any) -> Any:
        return run.result(timeout=LIMIT)

    def wait(self, run: Any) -> Any:
        return run.wait(timeout=LIMIT)


class AsyncioDriver:
    """Driver of the client for asyncio, on a loop of its own."""

    name = "asyncio"

    @contextlib.contextmanager
    def _use(self, make: Callable[[], Any]) -> Iterator["AsyncioDriver"]:
        async def made() -> Any:
            return make()

        with asyncio.Runner() as runner:
            self.run = lambda work: runner.run(asyncio.wait_for(work, LIMIT))
            self.client = self.run(made())
            try:
                yield self
            finally:
                self.run(self.client.close())

    def spawn(self, dialect: Any, command: list[str], **options: Any) -> Any:
        return self._use(lambda: dialect.AsyncClient.spawn(command, **options))

    def connect(self, dialect: Any, end: socket.socket, **options: Any) -> Any:
        return self._use(lambda: dialect.AsyncClient.connect(end, **options))

    def call(self, name: str, *args: Any, **params: Any) -> Any:
        async def work() -> Any:
            given = getattr(self.client, name)(*args, **params)
            return await given if hasattr(given, "__await__") else given

        return self.run(work())

    def events(self, run: Any) -> list[Any]:
        async def work() -> list[Any]:
            return [event async for event in run]

        return self.run(work())

    def take(self, events: Any, count: int) -> list[Any]:
        async def work() -> list[Any]:
            taken: list[Any] = []
            async for event in events:
                taken.append(event)
                if len(taken) == count:
                    break
            return taken

        return self.run(work())

    def result(self, run: Any) -> Any:
        return self.run(run.result())

    def wait(self, run: Any) -> Any:
        return self.run(run.wait())


BOTH = [ThreadsDriver, AsyncioDriver]
