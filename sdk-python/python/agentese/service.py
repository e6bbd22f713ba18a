"""Agents: a class with a method for each command. This module handles framing, ids, order and validation."""

import asyncio
import logging
import socket as sockets
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from agentese import backends
from agentese._native import Decoder, Mailbox, Record, Server, ServerCall
from agentese.dialogs import reject_misspelt
from agentese.members import encode
from agentese.reactor import Reactor

logger = logging.getLogger("agentese")
_ANY = Decoder("any")

G = TypeVar("G", contravariant=True)


class CommandError(Exception):
    """Exception that rejects a command. Its message is the error in the response."""

    def __init__(self, message: str, *, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        """Error in the response."""
        self.code = code
        """JSON-RPC code, in dialects with codes; -32603 by default."""
        self.data = data
        """Additional data in JSON-RPC responses."""

    @classmethod
    def not_available(cls, command: str) -> "CommandError":
        """Returns the rejection of a command that this agent does not implement."""
        return cls(f"`{command}` is not available in this server")


class Call(Generic[G]):
    """Command in progress. Its handler uses it to send events, dialogs and an early response to the client."""

    __slots__ = ("_call", "_reactor", "command")

    def __init__(self, call: ServerCall, reactor: Reactor) -> None:
        self._call = call
        self._reactor = reactor
        self.command = call.command
        """Wire name of the command."""

    def answer(self, data: Any = None) -> None:
        """Sends the response before the handler ends. Events that the handler sends later follow
        the response.
        """
        self._call.answer(None if data is None else encode(data))

    async def emit(self, event: G) -> None:
        """Sends an event. Waits while too much output is unwritten because the client does not
        read.

        Raises `EncodeError` if the event does not fit its declaration.
        """
        body = event.raw if isinstance(event, Record) else encode(event)
        await self._wait(lambda mailbox, token: self._call.emit(body, mailbox, token))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None = None) -> Any:
        """Opens a dialog and returns the members of its answer. Returns `None` for a notice, or if no answer
        arrives within `timeout` seconds.

        Raises `EncodeError` if the dialog does not fit its declaration.
        """
        return await self._wait(
            lambda mailbox, token: self._call.ask(method, encode(params), timeout, mailbox, token), _ANY
        )

    async def _wait(self, start: Any, decoder: Decoder | None = None) -> Any:
        token = self._reactor.token()
        mailbox: Mailbox = self._reactor.mailbox
        pending = start(mailbox, token)
        await self._reactor.wait(token, pending)
        return pending.take(decoder)


class ServiceBase:
    """Base of the `Service` classes of the dialects. Raises `TypeError` for a subclass whose public
    method seems to be a misspelt command, because that method would never be called. That is a
    method whose name is similar to a command, or whose last parameter is `call`."""

    dialect: ClassVar[str]
    _methods: ClassVar[Mapping[str, tuple[str, type[Record] | None]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        reject_misspelt(cls, frozenset(method for method, _ in cls._methods.values()), "command", "call")


FailureCallback: TypeAlias = Callable[[Exception], object]
"""Callback that receives the exception of a handler."""


async def serve_async(
    service: ServiceBase, socket: sockets.socket | None = None, *, on_failure: FailureCallback | None = None
) -> None:
    """Serves stdin and stdout, or a connected Unix socket, until the client disconnects. Requires asyncio.

    While it serves stdout, other output of this process goes to stderr. If a handler raises an exception,
    its command is rejected. The exception is logged and passed to `on_failure`.
    """
    loop = asyncio.get_running_loop()
    reactor = Reactor(backends.Asyncio())
    tasks: set[asyncio.Task[None]] = set()
    calls, ended = reactor.token(), reactor.token()
    server, end = Server.start(
        service.dialect, reactor.mailbox, calls, ended, None if socket is None else socket.fileno()
    )

    def accept_calls() -> None:
        found, stopping = server.calls()
        for call in found:
            task = loop.create_task(_handle(service, call, reactor, on_failure))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        if stopping:
            for task in tasks:
                task.cancel()

    reactor.on_token(calls, accept_calls)
    accept_calls()
    try:
        await reactor.wait(ended, end)
        end.take()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        reactor.close()


def serve(service: ServiceBase) -> None:
    """Serves stdin and stdout until the client disconnects. Runs its own event loop."""
    asyncio.run(serve_async(service))


async def _handle(service: ServiceBase, call: ServerCall, reactor: Reactor, on_failure: FailureCallback | None) -> None:
    method, params = service._methods[call.command]
    try:
        given: Call[Any] = Call(call, reactor)
        work = getattr(service, method)
        data = await (work(given) if params is None else work(call.params(params), given))
        call.finish(None if data is None else encode(data))
    except CommandError as error:
        call.reject(error.message, error.code, None if error.data is None else encode(error.data))
    except asyncio.CancelledError:
        call.reject(f"`{call.command}` was stopped")
        raise
    except Exception as error:
        logger.exception("the handler of %s failed", call.command)
        call.reject(f"`{call.command}` failed inside the server")
        if on_failure is not None:
            on_failure(error)
