import assert from "node:assert/strict";
import { test } from "node:test";

import { windowsEnvironment, windowsLaunch } from "../src/child/windows.js";

const ENV = { Path: "C:\\node;C:\\Users\\me\\npm", PATHEXT: ".EXE;.CMD", ComSpec: "C:\\Windows\\cmd.exe" };
const FILES = ["C:\\node\\node.EXE", "C:\\Users\\me\\npm\\pi.CMD", "D:\\work\\tools\\agent.EXE", "D:\\work\\run.bat"];
const launch = (program: string, ...args: string[]): ReturnType<typeof windowsLaunch> =>
  windowsLaunch(program, args, ENV, "D:\\work", (path) => FILES.includes(path));

test("Windows: programs are found with their endings, by PATH or from the working directory", () => {
  assert.deepEqual(launch("node", "a b"), { file: "C:\\node\\node.EXE", args: ["a b"], verbatim: false });
  assert.deepEqual(launch("node.EXE").file, "C:\\node\\node.EXE");
  assert.deepEqual(launch("tools/agent").file, "D:\\work\\tools\\agent.EXE");
  assert.deepEqual(launch("no-such"), { file: "no-such", args: [], verbatim: false });
});

test("Windows: batch files are run by the command interpreter, and no argument means anything to it", () => {
  const started = launch("pi", "--mode", "rpc", 'say "hi" & del %PATH%', "C:\\folder\\");
  assert.equal(started.file, "C:\\Windows\\cmd.exe");
  assert.deepEqual(started.args.slice(0, 3), ["/d", "/s", "/c"]);
  assert.ok(started.verbatim);
  // The interpreter unescapes the line once, and the batch file once more; the result is the original arguments.
  const line = (started.args[3] ?? "").slice(1, -1);
  const read = (text: string): string => {
    assert.doesNotMatch(text.replace(/\^[^]/g, ""), /[&|<>%"]/, "nothing is left unescaped");
    return text.replace(/\^([^])/g, "$1");
  };
  const once = read(line);
  assert.ok(once.startsWith('"C:\\Users\\me\\npm\\pi.CMD" '));
  const twice = read(once.slice(once.indexOf('" ') + 2));
  assert.equal(twice, '"--mode" "rpc" "say \\"hi\\" & del %PATH%" "C:\\folder\\\\"');
  assert.ok(launch(".\\run.bat").verbatim);
});

test("Windows: the names of variables differ in more than their case", () => {
  assert.deepEqual(windowsEnvironment({ Path: "a", HOME: "b" }, { PATH: "c", home: undefined }), { PATH: "c", home: undefined });
});
