"""The defects and neutral changes of all dialects, by `DIALECT/NAME`."""

from defects import acp, neutral, omp, opal, operator, pi_answers, pi_commands, pi_runs, pisces

MODULES = [pi_answers, pi_runs, pi_commands, omp, pisces, operator, opal, acp]
EVERY = [it for module in MODULES for it in module.BOOK.all] + neutral.ALL
ALL = {it.key: it for it in EVERY}
assert len(ALL) == len(EVERY), "two defects have one name"
