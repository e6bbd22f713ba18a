"""JSON shapes: a TypedDict for every declared record, with wire names."""

from agentese.generated.shapes import *
