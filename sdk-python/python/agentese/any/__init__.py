"""Client for agents of every dialect: neutral commands and events on top of the typed client of one dialect.

`Agent` (for threads) and `AsyncAgent` (for asyncio and trio) detect the dialect of an agent, have neutral commands
and emit neutral events. The declaration maps each intent to a command of the dialect; see docs/any.md.

    with Agent.spawn(["pi", "--mode", "rpc"]) as agent:
        for event in agent.prompt("What is in this folder?"):
            match event:
                case TextGrew():
                    print(event.text, end="", flush=True)
                case ToolStarted():
                    print(f"[{event.name}]")
                case _:
                    pass
"""

from agentese.any.agent import Agent as Agent
from agentese.any.agent import Answer as Answer
from agentese.any.aio import AsyncAgent as AsyncAgent
from agentese.any.aio_run import AsyncEvents as AsyncEvents
from agentese.any.aio_run import AsyncRun as AsyncRun
from agentese.any.diff import differences as differences
from agentese.any.event import ArgumentsGrew as ArgumentsGrew
from agentese.any.event import BlockChanged as BlockChanged
from agentese.any.event import CompactionEnded as CompactionEnded
from agentese.any.event import CompactionStarted as CompactionStarted
from agentese.any.event import ConversationReplaced as ConversationReplaced
from agentese.any.event import Event as Event
from agentese.any.event import MembersChanged as MembersChanged
from agentese.any.event import MessageEnded as MessageEnded
from agentese.any.event import MessageGone as MessageGone
from agentese.any.event import MessageStarted as MessageStarted
from agentese.any.event import NoticeAdded as NoticeAdded
from agentese.any.event import QuestionClosed as QuestionClosed
from agentese.any.event import QuestionOpened as QuestionOpened
from agentese.any.event import QueueChanged as QueueChanged
from agentese.any.event import RetryEnded as RetryEnded
from agentese.any.event import RetryStarted as RetryStarted
from agentese.any.event import StateChanged as StateChanged
from agentese.any.event import TextGrew as TextGrew
from agentese.any.event import ThinkingGrew as ThinkingGrew
from agentese.any.event import ToolEnded as ToolEnded
from agentese.any.event import ToolStarted as ToolStarted
from agentese.any.event import ToolUpdated as ToolUpdated
from agentese.any.event import UsageChanged as UsageChanged
from agentese.any.results import ClearedQueue as ClearedQueue
from agentese.any.results import ForkResult as ForkResult
from agentese.any.results import Image as Image
from agentese.any.results import Question as Question
from agentese.any.results import RunResult as RunResult
from agentese.any.results import ShellResult as ShellResult
from agentese.any.results import State as State
from agentese.any.results import Stats as Stats
from agentese.any.results import StoredSession as StoredSession
from agentese.any.run import Events as Events
from agentese.any.run import Run as Run
