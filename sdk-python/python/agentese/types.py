"""All declared types, independent of the dialect."""

from agentese.generated.types import *
from agentese.generated.types import Record as Record
