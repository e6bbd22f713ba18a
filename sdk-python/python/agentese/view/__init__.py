"""View: a conversation for front ends, folded from the frames of any dialect in both directions.

Generated tables describe the effect of each frame. The code of the fold does not depend on the dialect.

    view = View("pi")
    for direction, line in frames:  # as in `on_frame`
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
from agentese.view.conversation import PendingInput as PendingInput
from agentese.view.conversation import Run as Run
from agentese.view.conversation import Shell as Shell
from agentese.view.conversation import Usage as Usage
from agentese.view.folding import fold as fold
from agentese.view.reading import meaning_of
from agentese.view.running import close_conversation


class View:
    """View that folds the frames of both directions into a conversation.

    Unreadable frames, and frames without effect, leave the conversation unchanged.
    """

    conversation: Conversation
    """Current conversation. It is immutable, and unchanged parts remain the same objects."""

    def __init__(self, dialect: str, *, session: str | None = None) -> None:
        """Creates a view for an agent of a dialect. Raises `ValueError` if the dialect is unknown.

        `session` is the session to follow, in dialects with several sessions per connection. By default, the
        view follows the first session that starts.
        """
        meaning_of(dialect)
        begun = Conversation(dialect=dialect)
        self.conversation = begun if session is None else replace(begun, session=replace(begun.session, id=session))

    @classmethod
    def resume(cls, conversation: Conversation) -> "View":
        """Creates a view that continues a stored conversation."""
        view = cls(conversation.dialect)
        view.conversation = conversation
        return view

    @property
    def catch_up_commands(self) -> Sequence[str]:
        """Commands whose responses a view needs if it starts in the middle of a session."""
        return tuple(meaning_of(self.conversation.dialect)["asks"])

    def sent(self, frame: str | bytes | dict[str, Json], at: float | None = None) -> Conversation:
        """Folds a frame of the client, given as a line or an object. `at` is its time in milliseconds since the
        epoch.
        """
        return self._fold("sent", frame, at)

    def received(self, frame: str | bytes | dict[str, Json], at: float | None = None) -> Conversation:
        """Folds a frame of the agent."""
        return self._fold("received", frame, at)

    def close(self, reason: str) -> Conversation:
        """Marks all work as ended, after the end of the connection. `reason` describes that end."""
        self.conversation = close_conversation(self.conversation, reason)
        return self.conversation

    def _fold(self, direction: Literal["sent", "received"], frame: str | bytes | dict[str, Json], at: float | None) -> Conversation:
        self.conversation = fold(self.conversation, direction, frame, at)
        return self.conversation
