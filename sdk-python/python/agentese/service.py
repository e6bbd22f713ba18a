"""Being an agent."""


class Refusal(Exception):
    """A command was not carried out."""


class ServiceBase:
    """What an agent does."""


def serve() -> None:
    """Serves."""
