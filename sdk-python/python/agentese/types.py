"""Every declared type, whatever the dialect."""

from agentese.generated.types import *
from agentese.generated.types import Record as Record
