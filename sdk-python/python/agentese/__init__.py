"""Typed clients and servers for coding agents that speak newline-delimited JSON on stdio.

Five dialects, each a module with `Client`, `AsyncClient`, the classes of its events and a `Service` for
agents: `pi`, `omp`, `pisces`, `operator`, `opal`.
"""

import importlib as _importlib
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from agentese._native import Record as Record
from agentese.dialogs import is_withdrawn as is_withdrawn
from agentese.errors import AgenteseError as AgenteseError
from agentese.errors import DecodeError as DecodeError
from agentese.errors import DetachedError as DetachedError
from agentese.errors import EncodeError as EncodeError
from agentese.errors import ForkedError as ForkedError
from agentese.errors import NotInDialectError as NotInDialectError
from agentese.errors import NotInRevisionError as NotInRevisionError
from agentese.errors import NotRecognisedError as NotRecognisedError
from agentese.errors import OtherDialectError as OtherDialectError
from agentese.errors import RefusedError as RefusedError
from agentese.errors import RunFailedError as RunFailedError
from agentese.errors import SpawnError as SpawnError
from agentese.errors import StalledError as StalledError
from agentese.errors import TerminatedError as TerminatedError
from agentese.errors import Termination as Termination
from agentese.errors import TimedOutError as TimedOutError
from agentese.errors import UsageError as UsageError
from agentese.interchange import dec_hook as dec_hook
from agentese.interchange import enc_hook as enc_hook
from agentese.limits import RunLimits as RunLimits
from agentese.members import DEFAULT as DEFAULT
from agentese.run import RunResult as RunResult
from agentese.service import CommandError as CommandError
from agentese.service import serve as serve
from agentese.tap import Direction as Direction
from agentese.tap import OnFrame as OnFrame
from agentese.tap import OnStderr as OnStderr
from agentese.unknown import UnknownVariant as UnknownVariant

if _TYPE_CHECKING:
    from agentese import omp as omp
    from agentese import opal as opal
    from agentese import operator as operator
    from agentese import pi as pi
    from agentese import pisces as pisces
    from agentese import shapes as shapes

__all__ = [
    "DEFAULT",
    "AgenteseError",
    "DecodeError",
    "DetachedError",
    "Direction",
    "EncodeError",
    "ForkedError",
    "NotInDialectError",
    "NotInRevisionError",
    "NotRecognisedError",
    "OnFrame",
    "OnStderr",
    "OtherDialectError",
    "Record",
    "CommandError",
    "RefusedError",
    "RunFailedError",
    "RunLimits",
    "RunResult",
    "SpawnError",
    "StalledError",
    "TerminatedError",
    "Termination",
    "TimedOutError",
    "UnknownVariant",
    "UsageError",
    "dec_hook",
    "enc_hook",
    "omp",
    "opal",
    "operator",
    "pi",
    "pisces",
    "serve",
    "shapes",
    "is_withdrawn",
]

__version__ = "0.1.0"

_LOADED_WHEN_NAMED = ("omp", "opal", "operator", "pi", "pisces", "shapes")


def __getattr__(name: str) -> _ModuleType:
    """Imports the module of a dialect, or `shapes`, when it is first accessed. A program thus loads only the
    dialects that it uses."""
    if name in _LOADED_WHEN_NAMED:
        return _importlib.import_module(f"agentese.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
