"""Agents: a class with a method for each command. Framing, ids, order and validation are done here."""

import asyncio
import logging
import socket as sockets
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from agentese import backends
from agentese._native import Decoder, Mailbox, Record, Server, ServerCall
from agentese.dialogs import refuse_misspelt
from agentese.members import encode
from agentese.reactor import Reactor

logger = logging.getLogger("agentese")
_ANY = Decoder("any")

G = TypeVar("G", contravariant=True)


class Refusal(Exception):
    """Raised by a handler: the command is rejected, with this message as the error of its answer."""

    def __init__(self, message: str, *, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        """The error of the answer."""
        self.code = code
        """The JSON-RPC code, in dialects that have codes; -32603 where there is none."""
        self.data = data
        """More about it, in JSON-RPC answers."""

    @classmethod
    def not_available(cls, command: str) -> "Refusal":
        """The refusal of a command that this agent does not have."""
        return cls(f"`{command}` is not available in this server")


class Call(Generic[G]):
    """One command that is being carried out, and the way to its client: for events, dialogs and an early answer."""

    __slots__ = ("_call", "_reactor", "command")

    def __init__(self, call: ServerCall, reactor: Reactor) -> None:
        self._call = call
        self._reactor = reactor
        self.command = call.command
        """The command's wire name."""

    def answer(self, data: Any = None) -> None:
        """Answers now, before the handler returns: events that are emitted afterwards stand after the answer."""
        self._call.answer(None if data is None else encode(data))

    async def emit(self, event: G) -> None:
        """Sends an event; waits while a client that does not read has too much waiting for it.

        Raises `EncodeError` where the event does not fit its declaration.
        """
        body = event.raw if isinstance(event, Record) else encode(event)
        await self._wait(lambda mailbox, ticket: self._call.emit(body, mailbox, ticket))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None = None) -> Any:
        """Opens a dialog and gives the members of its answer; `None` for a notice, which has no answer, and where no
        answer comes within `timeout` seconds.

        Raises `EncodeError` where the dialog does not fit its declaration.
        """
        return await self._wait(
            lambda mailbox, ticket: self._call.ask(method, encode(params), timeout, mailbox, ticket), _ANY
        )

    async def _wait(self, start: Any, decoder: Decoder | None = None) -> Any:
        ticket = self._reactor.ticket()
        mailbox: Mailbox = self._reactor.mailbox
        pending = start(mailbox, ticket)
        await self._reactor.wait(ticket, pending)
        return pending.take(decoder)


class ServiceBase:
    """The base of the `Service` classes of the dialects. A subclass with a public method that is no command, and is
    nearly named like one or takes a `call`, is refused: it would never be called."""

    dialect: ClassVar[str]
    _methods: ClassVar[Mapping[str, tuple[str, type[Record] | None]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        refuse_misspelt(cls, frozenset(method for method, _ in cls._methods.values()), "command", "call")


Failed: TypeAlias = Callable[[Exception], object]
"""Called with what a handler raised."""


async def serve_async(
    service: ServiceBase, socket: sockets.socket | None = None, *, on_failure: Failed | None = None
) -> None:
    """Serves stdin and stdout, or a connected Unix socket, until the client is gone. For asyncio.

    While it serves stdout, anything else that this process prints goes to stderr. What a handler raises is logged and
    given to `on_failure`; its command is rejected.
    """
    loop = asyncio.get_running_loop()
    reactor = Reactor(backends.Asyncio())
    tasks: set[asyncio.Task[None]] = set()
    calls, ended = reactor.ticket(), reactor.ticket()
    server, end = Server.start(
        service.dialect, reactor.mailbox, calls, ended, None if socket is None else socket.fileno()
    )

    def look() -> None:
        found, stopping = server.calls()
        for call in found:
            task = loop.create_task(_handle(service, call, reactor, on_failure))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        if stopping:
            for task in tasks:
                task.cancel()

    reactor.stand(calls, look)
    look()
    try:
        await reactor.wait(ended, end)
        end.take()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        reactor.close()


def serve(service: ServiceBase) -> None:
    """Serves stdin and stdout until the client is gone. Runs an event loop of its own."""
    asyncio.run(serve_async(service))


async def _handle(service: ServiceBase, call: ServerCall, reactor: Reactor, on_failure: Failed | None) -> None:
    method, params = service._methods[call.command]
    try:
        given: Call[Any] = Call(call, reactor)
        work = getattr(service, method)
        data = await (work(given) if params is None else work(call.params(params), given))
        call.finish(None if data is None else encode(data))
    except Refusal as refusal:
        call.refuse(refusal.message, refusal.code, None if refusal.data is None else encode(refusal.data))
    except asyncio.CancelledError:
        call.refuse(f"`{call.command}` was stopped")
        raise
    except Exception as error:
        logger.exception("the handler of %s failed", call.command)
        call.refuse(f"`{call.command}` failed inside the server")
        if on_failure is not None:
            on_failure(error)
