#!/usr/bin/env python3
"""Rejects tests that compare elapsed time, in all languages; CONTRIBUTING.md, "Tests and time",
names the alternatives.

A test may read a clock for one purpose: to bound a wait. The bound is the shared constant of the
language, a minute (`LONG` in Rust, `LIMIT` in Python, `PATIENCE` in TypeScript and JavaScript), or
a longer constant of the same file. A Rust test with a paused clock of the runtime (`start_paused =
true`) may read that clock. Programs in string literals are checked like the test around them.
ALLOWED lists the permitted other readings of a clock, each with its reason. An entry that matches
no reading is an error.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MINUTE = {"rs": 60, "py": 60, "js": 60_000, "sh": None}
SHARED = {"rs": "LONG", "py": "LIMIT", "js": "PATIENCE", "sh": None}

# Each entry: the file, a part of the line that reads the clock, and the reason.
ALLOWED = [
    ("cli/src/web/agent_process.rs", "hub.join(&tab, Instant::now())", "the hub is given its times, and none is compared"),
    ("cli/src/web/hub/tests.rs", "Instant::now()", "the hub is given its times, and none is compared"),
    ("cli/tests/binary/storage.rs", "SystemTime::now() -", "makes a file that is an hour old"),
    ("conformance/tests/attack/agent.py", "time.time_ns()", "the timestamp of a message"),
    ("conformance/tests/model/breaks.rs", "begin", "the pauses of the model are real; it is the one that waits which measures, and there is no upper bound"),
    ("conformance/tests/independent_agents/agents/agent.mjs", "timestamp: Date.now()", "the timestamp of a message"),
    ("conformance/tests/independent_agents/agents/agent.py", "time.time() * 1000", "the timestamp of a message"),
    ("conformance/interop/pi-codes/examples/reading.rs", "begin", "a measurement for docs/benchmarks.md, and no test"),
    ("conformance/interop/sessions.mjs", "toolu_", "makes an id that is used once"),
    ("sdk-rust/tests/client/process.rs", "killed", "shows a figure for docs/benchmarks.md and compares it with nothing"),
    ("server/base/src/config/file_lock.rs", "SystemTime::now() -", "makes a lock file that is old"),
    ("server/models/src/auth_cache.rs", "SystemTime::now() -", "makes a file that is an hour old"),
    ("server/models/src/auth_cache.rs", "began", "the wait for a stuck disk is real; it is the one that waits which measures, and there is no upper bound"),
    ("server/base/src/atomic_write/tests.rs", "SystemTime::now()", "makes files that are an hour old, and one that is young"),
    ("server/tests/export/content.rs", "self.since.elapsed()", "words of an exported page"),
    ("server/tests/extensions/ui.py", "time.monotonic()", "the extension that asks measures its own wait; there is no upper bound"),
    ("server/tests/omp/streaming.rs", "Instant", "the clock of the runtime stands still but for the times of the test"),
    ("server/tests/pisces/verification.rs", "durationMs", "the agent's own figure: at least the time limit, and less than the command takes"),
    ("server/tests/sessions/store.rs", "SystemTime::now() -", "makes a file that is as old as the test says"),
    ("server/tests/support/dice.rs", "SystemTime::now()", "the seed of a test that draws at random"),
    ("server/tests/tools_guard.rs", "started", "the grace is real; it is the one that waits which measures, and there is no upper bound"),
]

CLOCK = re.compile(
    r"\b(?:Instant|SystemTime|Utc|Local)::now\b|\.elapsed\(\)|\.duration_since\("
    r"|\bmonotonic(?:_ns)?\(|\btime\.time(?:_ns)?\(|\bperf_counter(?:_ns)?\(|\bprocess_time(?:_ns)?\(|loop\(?\)?\.time\(\)"
    r"|\bdatetime\.(?:now|utcnow|today)\("
    r"|\bperformance\.now\(|\bDate\.now\(|\bhrtime\b|\bnew Date\(\)"
    r"|\bdate \+%s|\$\{?(?:SECONDS|EPOCHSECONDS|EPOCHREALTIME)\b|\$\(\(\s*SECONDS\b"
)
# Name of a field in which a program reports a duration of its own.
FIGURE = r"\b(?:duration|elapsed|took)_?(?:[mM]s|[sS]econds)\b"
TOLD = re.compile(rf"{FIGURE}.*?(?:(?<![-=])>=?\s*\d|<=?\s*\d|\bin range\()|\.contains\(&.*?{FIGURE}")
INLINE = r"(?m)^#\[cfg\(test\)\]\n(?=(?:#\[.*\]\n)*mod \w+ \{)"
COMMENT = {"rs": "//", "js": "//", "py": "#", "sh": "#"}
FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const )?(?:async )?(?:unsafe )?fn \w+")
BOUND = r"\s*[<>]=?\s*(?:[a-z_]+::)*({names})\b(?!\s*[-+*/.])"


def language(path):
    suffix = path.suffix.lstrip(".")
    return {"rs": "rs", "py": "py", "sh": "sh", "": "sh"}.get(suffix, "js" if suffix in ("ts", "tsx", "mts", "js", "mjs", "cjs") else None)


def constants(text, kind):
    """Yields the names and values of constants that are durations, in the unit of their language.
    """
    patterns = {
        "rs": r"const (\w+): (?:std::time::)?Duration = (?:std::time::)?Duration::from_secs\(([\d_]+)\)",
        "py": r"(?m)^(\w+) = ([\d_.]+)$",
        "js": r"(?m)^(?:export )?const (\w+) = ([\d_]+);$",
    }
    for name, value in re.findall(patterns[kind], text) if kind in patterns else []:
        yield name, float(value.replace("_", ""))


def is_paused(lines, at):
    """Returns `True` if a line is in a Rust test with a paused clock of the runtime."""
    while at > 0 and not FUNCTION.match(lines[at]):
        at -= 1
    while at > 0 and lines[at - 1].lstrip().startswith(("#[", "///")):
        at -= 1
        if "start_paused = true" in lines[at]:
            return True
    return False


def only_bounds(lines, at, name, names):
    """Returns `True` if the function uses the moment bound in that line only to bound waits."""
    good = re.compile(rf"\b{name}\.elapsed\(\)" + BOUND.format(names=names))
    for line in lines[at + 1 :]:
        if FUNCTION.match(line):
            break
        if line.lstrip().startswith("//"):
            continue
        if len(re.findall(rf"\b{name}\b", line)) != len(good.findall(line)):
            return False
        if re.search(rf"\blet (?:mut )?{name}\b", line):
            break
    return True


def bounds_a_wait(kind, lines, at, names, ends):
    line = lines[at]
    if kind == "rs":
        bound = re.search(r"\blet (?:mut )?(\w+) = (?:\w+::)*Instant::now\(\);", line)
        if bound:
            return only_bounds(lines, at, bound[1], names)
        compared = re.findall(r"\.elapsed\(\)" + BOUND.format(names=names), line)
        return len(CLOCK.findall(line)) == len(compared)
    now = {"py": r"\btime\.monotonic\(\)", "js": r"\bDate\.now\(\)"}.get(kind)
    if now is None:
        return False
    begins = re.findall(rf"\b\w+ = {now} \+ (?:{names})\b(?!\s*[-*/.])", line)
    compares = re.findall(rf"{now}\s*[<>]=?\s*(?:{'|'.join(ends)})\b", line) if ends else []
    return len(CLOCK.findall(line)) == len(begins) + len(compares)


def findings(path, text):
    """Yields the lines of a test that read a clock for another purpose than to bound a wait:
    number, text, and error.
    """
    kind = language(Path(path))
    lines = text.split("\n")
    known = list(constants(text, kind))
    names = "|".join(sorted({SHARED[kind] or "-", *(name for name, value in known if value >= (MINUTE[kind] or 0))}))
    now = {"py": r"time\.monotonic\(\)", "js": r"Date\.now\(\)"}.get(kind)
    ends = re.findall(rf"\b(\w+) = {now} \+ (?:{names})\b(?!\s*[-*/.])", text) if now else []
    stands_still = kind == "rs" and not re.search(r"\bstd::time::(?:\{[^}]*\b)?Instant\b", text)
    for name, value in known:
        if name == SHARED[kind] and value < MINUTE[kind]:
            yield 0, name, f"{name} is less than a minute"
    for at, line in enumerate(lines):
        if line.lstrip().startswith(COMMENT[kind]) and not line.startswith("#!"):
            continue
        if TOLD.search(line):
            yield at + 1, line.strip(), "a span of time is compared"
        if not CLOCK.search(line) or (stands_still and is_paused(lines, at)):
            continue
        if not bounds_a_wait(kind, lines, at, names, ends):
            yield at + 1, line.strip(), "a clock is read"


def is_test(path):
    """Returns `True` if a file contains only tests."""
    parts = Path(path).parts
    name = parts[-1]
    return (
        bool({"tests", "test"} & set(parts[:-1]))
        or parts[:2] == ("conformance", "interop")
        or parts[:3] == ("conformance", "defects", "independent")
        or re.search(r"^test_|_tests?\.|^tests?\.|\.test\.", name) is not None
        or path == "sdk-python/test"
    )


def modules_of_tests(path, text):
    """Yields the files of the modules that a Rust source declares only for its tests."""
    file = Path(path)
    folder = file.parent if file.name in ("mod.rs", "lib.rs", "main.rs") else file.parent / file.stem
    for name in re.findall(r"(?m)^#\[cfg\(test\)\]\n(?:pub(?:\([a-z]+\))? )?mod (\w+);", text):
        yield from (folder / f"{name}.rs", folder / name)


def test_files():
    """Yields the paths and texts of tests. Of a Rust source with tests, only the tests remain;
    their line numbers are unchanged.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = sorted(set(listed.splitlines()))
    sources = [path for path in paths if path.endswith(".rs") and (ROOT / path).is_file()]
    modules = {module for path in sources for module in modules_of_tests(path, (ROOT / path).read_text(encoding="utf-8"))}
    for path in paths:
        file = ROOT / path
        if language(file) is None or "generated" in file.parts or path.startswith("tools/ci/") or not file.is_file():
            continue
        whole = is_test(path) or bool(modules & {Path(path), *Path(path).parents})
        if file.suffix == "" and not (whole and file.read_bytes()[:2] == b"#!"):
            continue
        if not whole and file.suffix != ".rs":
            continue
        text = file.read_text(encoding="utf-8")
        if whole:
            yield path, text
        elif re.search(INLINE, text):
            before, tests = re.split(INLINE, text, maxsplit=1)
            # The imports that the tests use precede the module.
            imports = [line if re.match(r"\s*use ", line) else "" for line in before.split("\n")]
            yield path, "\n".join(imports) + "\n" + tests


def judged(files, allowed):
    """Yields the errors in these files: first the readings that are not allowed, then the
    entries that match no reading.
    """
    used = set()
    for path, text in files:
        for number, line, what in findings(path, text):
            entries = [at for at, (file, words, _) in enumerate(allowed) if file == path and words in line]
            used.update(entries)
            if not entries:
                yield f"{path}:{number}: {what}: {line}"
    for at, (file, words, reason) in enumerate(allowed):
        if at not in used:
            yield f"tools/ci/clocks.py: {file} reads no clock in a line with {words!r}; remove the entry"
        if len(reason.split()) < 4:
            yield f"tools/ci/clocks.py: the entry of {file} gives no reason"


def main():
    wrong = list(judged(test_files(), ALLOWED))
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        print('tests measure no time: CONTRIBUTING.md, "Tests and time", says what to write instead', file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
