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
from agentese.any.differ import differences as differences
from agentese.any.event import Answered as Answered
from agentese.any.event import ArgumentsGrew as ArgumentsGrew
from agentese.any.event import Asked as Asked
from agentese.any.event import BlockChanged as BlockChanged
from agentese.any.event import Changed as Changed
from agentese.any.event import CompactionBegan as CompactionBegan
from agentese.any.event import CompactionEnded as CompactionEnded
from agentese.any.event import Event as Event
from agentese.any.event import MessageBegan as MessageBegan
from agentese.any.event import MessageEnded as MessageEnded
from agentese.any.event import MessageGone as MessageGone
from agentese.any.event import NoticeCame as NoticeCame
from agentese.any.event import Queue as Queue
from agentese.any.event import Replaced as Replaced
from agentese.any.event import RetryBegan as RetryBegan
from agentese.any.event import RetryEnded as RetryEnded
from agentese.any.event import StateChanged as StateChanged
from agentese.any.event import TextGrew as TextGrew
from agentese.any.event import ThinkingGrew as ThinkingGrew
from agentese.any.event import ToolEnded as ToolEnded
from agentese.any.event import ToolStarted as ToolStarted
from agentese.any.event import ToolUpdated as ToolUpdated
from agentese.any.event import UsageChanged as UsageChanged
from agentese.any.results import ClearedQueue as ClearedQueue
from agentese.any.results import Forked as Forked
from agentese.any.results import Image as Image
from agentese.any.results import KeptSession as KeptSession
from agentese.any.results import Question as Question
from agentese.any.results import RunResult as RunResult
from agentese.any.results import ShellResult as ShellResult
from agentese.any.results import State as State
from agentese.any.results import Stats as Stats
from agentese.any.run import Events as Events
from agentese.any.run import Run as Run
