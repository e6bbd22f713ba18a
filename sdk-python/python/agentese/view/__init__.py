"""The view: a conversation as front ends show it, folded from the frames of any dialect in both directions.

What each frame means is declared beside the rows of its dialect and generated as a table; the fold knows no dialect.

    view = View("pi")
    for direction, line in frames:  # as a tap of the client sees them
        view.sent(line) if direction == "sent" else view.received(line)
    print(view.conversation.messages[-1].text)
    kept = json.dumps(view.conversation.to_json())
    again = View.resume(Conversation.of(json.loads(kept)))
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agentese.view.conversation import Block as Block
from agentese.view.conversation import Conversation as Conversation
from agentese.view.conversation import Json as Json
from agentese.view.conversation import Message as Message
from agentese.view.conversation import Notice as Notice
from agentese.view.conversation import OpenQuestion as OpenQuestion
from agentese.view.conversation import Run as Run
from agentese.view.conversation import Shell as Shell
from agentese.view.conversation import Usage as Usage
from agentese.view.conversation import Waiting as Waiting
from agentese.view.folding import fold as fold
from agentese.view.reading import meaning_of
from agentese.view.running import closed


class View:
    """Holds the conversation that frames of both directions tell.

    Frames that say nothing of it, or cannot be read, leave it as it is.
    """

    conversation: Conversation
    """As it stands. Never changed in place: what did not change is the same object as before."""

    def __init__(self, dialect: str, *, session: str | None = None) -> None:
        """A view of an agent that speaks that dialect. Raises `ValueError` where no dialect has that name.

        `session`: the one to follow, where a connection has several; without it the first that starts.
        """
        meaning_of(dialect)
        begun = Conversation(dialect=dialect)
        self.conversation = begun if session is None else replace(begun, session=replace(begun.session, id=session))

    @classmethod
    def resume(cls, conversation: Conversation) -> "View":
        """Goes on with a conversation that was kept."""
        view = cls(conversation.dialect)
        view.conversation = conversation
        return view

    @property
    def asks(self) -> Sequence[str]:
        """The commands whose answers tell what a view that begins late has missed."""
        return tuple(meaning_of(self.conversation.dialect)["asks"])

    def sent(self, frame: str | bytes | dict[str, Json], at: float | None = None) -> Conversation:
        """Shows it a frame that the client sent: a line, or the object in it. `at`: milliseconds since the epoch."""
        return self._fold("sent", frame, at)

    def received(self, frame: str | bytes | dict[str, Json], at: float | None = None) -> Conversation:
        """Shows it a frame that the agent sent."""
        return self._fold("received", frame, at)

    def close(self, reason: str) -> Conversation:
        """Tells it that the connection has ended: what was going on is over, for that reason."""
        self.conversation = closed(self.conversation, reason)
        return self.conversation

    def _fold(self, direction: Literal["sent", "received"], frame: str | bytes | dict[str, Json], at: float | None) -> Conversation:
        self.conversation = fold(self.conversation, direction, frame, at)
        return self.conversation
