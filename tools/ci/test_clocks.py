#!/usr/bin/env python3
"""Tests of clocks.py: rejected readings in each language, and similar ones that are allowed."""

import unittest

from clocks import findings, is_test, judged, modules_of_tests


def rust(body, head="use std::time::Instant;\n", attribute="#[test]"):
    return f"{head}\n{attribute}\nfn it_ends_soon() {{\n{body}\n}}\n"


# Each entry: a path, and the text of a file with one line that clocks.py must reject.
REFUSED = {
    "rust: an upper bound": ("a/tests/b.rs", rust("    let start = Instant::now();\n    work();\n    assert!(start.elapsed() < Duration::from_secs(10));")),
    "rust: a lower bound": ("a/tests/b.rs", rust("    let start = Instant::now();\n    assert!(start.elapsed() >= Duration::from_millis(280));")),
    "rust: a part of the minute": ("a/tests/b.rs", rust("    let start = Instant::now();\n    assert!(start.elapsed() < LONG / 4);")),
    "rust: seconds as a number": ("a/tests/b.rs", rust("    let start = Instant::now();\n    assert!(start.elapsed().as_secs() < 60);")),
    "rust: moments that are subtracted": ("a/tests/b.rs", rust("    let since = Instant::now();\n    let waited = other() - since;")),
    "rust: a moment that is handed on": ("a/tests/b.rs", rust("    assert!(took(Instant::now()));")),
    "rust: both": ("a/tests/b.rs", rust("    let since = Instant::now();\n    assert!(since.elapsed() < LONG && since.elapsed() > SHORT);")),
    "rust: the machine's clock beside a paused one": (
        "a/tests/b.rs",
        rust("    let since = std::time::Instant::now();\n    took(since);", attribute="#[tokio::test(start_paused = true)]"),
    ),
    "rust: a bound of its own that is short": (
        "a/tests/b.rs",
        rust("    let start = Instant::now();\n    assert!(start.elapsed() < BOUND);", head="const BOUND: Duration = Duration::from_secs(20);\n"),
    ),
    "rust: the time of day": ("a/tests/b.rs", rust("    assert!(SystemTime::now() < before + SECOND);")),
    "rust: figures of the program": ("a/tests/b.rs", rust('    assert!(frame["durationMs"].as_u64().unwrap() < 20_000);')),
    "rust: a range for a figure": ("a/tests/b.rs", rust('    assert!((1..9).contains(&frame["durationMs"]));')),
    "python: a difference": ("a/tests/test_b.py", "begun = time.monotonic()\nwork()\n"),
    "python: performance": ("a/tests/test_b.py", "assert time.perf_counter() - begun < 5\n"),
    "python: the time of day": ("a/tests/test_b.py", "assert time.time() < end\n"),
    "python: a loop's clock": ("a/tests/test_b.py", "assert asyncio.get_running_loop().time() < end\n"),
    "python: a short bound": ("a/tests/test_b.py", "end = time.monotonic() + 10\n"),
    "python: a part of the minute": ("a/tests/test_b.py", "end = time.monotonic() + LIMIT / 4\n"),
    "python: in a string": ("a/tests/test_b.py", 'CODE = """\nassert time.monotonic() - begun < 2\n"""\n'),
    "typescript: a difference": ("a/test/b.test.ts", "assert.ok(performance.now() - before < 1000);\n"),
    "typescript: the time of day": ("a/test/b.test.ts", "const before = Date.now();\n"),
    "typescript: a short bound": ("a/test/b.test.ts", "const deadline = Date.now() + 5000;\n"),
    "typescript: the process's clock": ("a/test/b.test.ts", "const before = process.hrtime.bigint();\n"),
    "javascript: in a browser": ("cli/web/test/b.test.mjs", "await page.evaluate(() => performance.now() - globalThis.began < 100);\n"),
    "javascript: a date": ("cli/web/test/b.test.mjs", "assert.ok(new Date() - before < 100);\n"),
    "shell: seconds": ("conformance/interop/b.sh", 'test "$SECONDS" -lt 10\n'),
    "shell: dates": ("conformance/interop/b.sh", "begun=$(date +%s)\n"),
    "shell: in a string of Rust": ("a/tests/b.rs", rust('    sh("test $(date +%s%N) -lt $end");')),
    "a minute that is none": ("a/tests/support/long.rs", "pub const LONG: Duration = Duration::from_secs(20);\n"),
    "a minute that is none, in TypeScript": ("a/test/support/agent.ts", "export const PATIENCE = 5000;\n"),
    "a minute that is none, in Python": ("a/tests/support/driver.py", "LIMIT = 15.0\n"),
}

LET_THROUGH = {
    "rust: a wait with a bound": (
        "a/tests/b.rs",
        rust("    let start = Instant::now();\n    while !there() {\n        assert!(start.elapsed() < LONG, \"it does not come\");\n    }"),
    ),
    "rust: a bound by its path": ("a/tests/b.rs", rust("    let since = std::time::Instant::now();\n    assert!(since.elapsed() < crate::support::LONG);")),
    "rust: a longer bound of the file": (
        "a/tests/b.rs",
        rust("    let begun = Instant::now();\n    if begun.elapsed() > LONGEST {}", head="const LONGEST: Duration = Duration::from_secs(150);\n"),
    ),
    "rust: a clock that stands still": (
        "a/tests/b.rs",
        rust("    let began = Instant::now();\n    assert_eq!(began.elapsed(), PATIENCE);", head="use tokio::time::Instant;\n", attribute="#[tokio::test(start_paused = true)]"),
    ),
    "rust: two functions": (
        "a/tests/b.rs",
        rust("    let start = Instant::now();\n    assert!(start.elapsed() < LONG);") + "fn start(start: u8) -> u8 {\n    start\n}\n",
    ),
    "rust: a comment": ("a/tests/b.rs", "// Instant::now() would be the machine's clock.\n"),
    "rust: another unit": ("a/tests/b.rs", "pub const LONG: usize = 20;\n"),
    "rust: a time limit that is given": ("a/tests/b.rs", rust('    let settings = json!({"timeoutMs": 300, "durationMs": 5});')),
    "python: a wait with a bound": ("a/tests/test_b.py", "end = time.monotonic() + LIMIT\nwhile not there():\n    assert time.monotonic() < end\n"),
    "python: words that are alike": ("a/tests/test_b.py", "entry.time()\nmonotonically = timeout(5)\n"),
    "typescript: a wait with a bound": (
        "a/test/b.test.ts",
        "for (const deadline = Date.now() + PATIENCE; !there(); ) {\n  assert.ok(Date.now() < deadline);\n}\n",
    ),
    "typescript: a date that is given": ("a/test/b.test.ts", "const at = new Date(1_700_000_000_000);\n"),
    "typescript: a bound of the file": ("a/test/b.test.ts", "const LIMIT = 120_000;\nconst deadline = Date.now() + LIMIT;\nassert.ok(Date.now() < deadline);\n"),
    "shell: a file's date": ("conformance/interop/b.sh", "touch -d '1 hour ago' file; date -u\n"),
}


class Clocks(unittest.TestCase):
    def test_what_compares_time_is_refused(self):
        for name, (path, text) in REFUSED.items():
            with self.subTest(name):
                self.assertTrue(is_test(path))
                self.assertTrue(list(findings(path, text)), text)

    def test_what_bounds_a_wait_is_let_through(self):
        for name, (path, text) in LET_THROUGH.items():
            with self.subTest(name):
                self.assertEqual(list(findings(path, text)), [])

    def test_an_entry_allows_its_line_and_a_stale_one_is_refused(self):
        files = [("a/tests/b.rs", rust("    let start = Instant::now();\n    assert!(start.elapsed() >= GRACE);"))]
        self.assertEqual(len(list(judged(files, []))), 2)
        entry = ("a/tests/b.rs", "start", "the grace is real, and nothing bounds it above")
        self.assertEqual(list(judged(files, [entry])), [])
        [stale] = judged([], [entry])
        self.assertIn("remove the entry", stale)
        self.assertIn("gives no reason", list(judged(files, [(*entry[:2], "because")]))[-1])

    def test_which_files_are_tests(self):
        for path in ["cli/src/web/hub/tests.rs", "a/src/b/tests.rs", "cli/web/test/support/page.mjs", "conformance/interop/walk.mjs", "sdk-python/test"]:
            self.assertTrue(is_test(path), path)
        for path in ["a/src/attestation.rs", "conformance/src/run/cases.rs", "sdk-ts/src/testing.ts", "tools/bench/peers.py"]:
            self.assertFalse(is_test(path), path)
        declared = "#[cfg(test)]\nmod faults;\n#[cfg(test)]\npub(crate) mod more;\nmod live;\n"
        self.assertEqual([str(path) for path in modules_of_tests("a/src/b.rs", declared)], ["a/src/b/faults.rs", "a/src/b/faults", "a/src/b/more.rs", "a/src/b/more"])


if __name__ == "__main__":
    unittest.main()
