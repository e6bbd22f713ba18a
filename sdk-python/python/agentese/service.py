"""Being an agent: framing, correlation, lanes and validation are done; what is left is a method for each command."""

import asyncio
import logging
import socket as sockets
from collections.abc import Mapping
from typing import Any, ClassVar

from agentese._native import Decoder, Mailbox, Record, Server, ServerCall
from agentese.members import encode
from agentese.reactor import Reactor

logger = logging.getLogger("agentese")
_ANY = Decoder("any")


class Refusal(Exception):
    """A command was not carried out."""

    def __init__(self, message: str, *, code: int | None = None, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        """What the answer says."""
        self.code = code
        """The JSON-RPC code; -32603 where there is none."""
        self.data = data
        """More about it, in JSON-RPC answers."""

    @classmethod
    def not_available(cls, command: str) -> "Refusal":
        """The command is declared and this agent does not have it."""
        return cls(f"`{command}` is not available in this server")


class Call:
    """One command that is being carried out: where its events and questions go."""

    __slots__ = ("_call", "_reactor", "command")

    def __init__(self, call: ServerCall, reactor: Reactor) -> None:
        self._call = call
        self._reactor = reactor
        self.command = call.command
        """The command's wire name."""

    def answer(self, data: Any = None) -> None:
        """Answers now, before the handler is done: what is sent afterwards stands after the answer."""
        self._call.answer(None if data is None else encode(data))

    async def emit(self, event: Record | Mapping[str, Any]) -> None:
        """Sends an event; waits while a client that does not read has too much waiting for it.

        Raises `DecodeError` where the event does not fit its declaration.
        """
        body = event.raw if isinstance(event, Record) else encode(event)
        await self._wait(lambda mailbox, ticket: self._call.emit(body, mailbox, ticket))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None = None) -> Any:
        """Asks a question and gives the members of its answer, or sends a notice and gives `None`.

        `None` too where no answer comes in time. Raises `DecodeError` where it does not fit its declaration.
        """
        return await self._wait(
            lambda mailbox, ticket: self._call.ask(method, encode(params), timeout, mailbox, ticket), _ANY
        )

    async def _wait(self, start: Any, decoder: Decoder | None = None) -> Any:
        ticket = self._reactor.ticket()
        mailbox: Mailbox = self._reactor.mailbox
        pending = start(mailbox, ticket)
        await self._reactor.wait(ticket)
        return pending.take(decoder)


class ServiceBase:
    """What an agent does, command by command; each dialect has its own."""

    dialect: ClassVar[str]
    _methods: ClassVar[Mapping[str, tuple[str, type[Record] | None]]]


async def serve_async(service: ServiceBase, socket: sockets.socket | None = None) -> None:
    """Serves stdin and stdout, or a connected Unix socket, until the client is gone.

    While it serves, what anything else in this process prints goes to stderr.
    """
    reactor = Reactor(asyncio.get_running_loop())
    tasks: set[asyncio.Task[None]] = set()
    calls, ended = reactor.ticket(), reactor.ticket()
    server, end = Server.start(
        service.dialect, reactor.mailbox, calls, ended, None if socket is None else socket.fileno()
    )

    def look() -> None:
        found, stopping = server.calls()
        for call in found:
            task = reactor.loop.create_task(_handle(service, call, reactor))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        if stopping:
            for task in tasks:
                task.cancel()

    reactor.stand(calls, look)
    look()
    try:
        await reactor.wait(ended)
        end.take()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        reactor.close()


def serve(service: ServiceBase) -> None:
    """Serves stdin and stdout until the client is gone."""
    asyncio.run(serve_async(service))


async def _handle(service: ServiceBase, call: ServerCall, reactor: Reactor) -> None:
    method, params = service._methods[call.command]
    try:
        given = Call(call, reactor)
        work = getattr(service, method)
        data = await (work(given) if params is None else work(call.params(params), given))
        call.finish(None if data is None else encode(data))
    except Refusal as refusal:
        call.refuse(refusal.message, refusal.code, None if refusal.data is None else encode(refusal.data))
    except asyncio.CancelledError:
        call.refuse(f"`{call.command}` was stopped")
        raise
    except Exception:
        logger.exception("the handler of %s failed", call.command)
        call.refuse(f"`{call.command}` failed inside the server")
