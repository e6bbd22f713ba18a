/** Taking keys out of text before anybody sees it. */

/** What stands in place of a key. */
export const REDACTED = "[redacted]";

/** Members whose values are keys, in lower case and without separators. */
const SECRET_MEMBERS = [
  "apikey",
  "authorization",
  "accesstoken",
  "refreshtoken",
  "githubtoken",
  "copilottoken",
  "password",
  "secret",
  "token",
  "xapikey",
];

/** A string that looks like a well-known key. */
const KEY = /^(?=.{20})(?:sk-|gh[pou]_|github_pat_|AIza|xox[bp]-|AKIA)[A-Za-z0-9_-]*$/;

/** The frame with the values of members that hold keys, and strings that look like keys, replaced. */
export function redact(frame: string): string {
  let out = "";
  let copied = 0;
  let secret = false;
  let at = 0;
  for (;;) {
    const quote = frame.indexOf('"', at);
    if (quote < 0) break;
    if (secret && /[{}[\],]/.test(frame.slice(at, quote))) secret = false;
    const end = stringEnd(frame, quote + 1);
    const text = frame.slice(quote + 1, end);
    let after = end + 1;
    while (frame[after] === " " || frame[after] === "\t") after++;
    if (frame[after] === ":") {
      secret = isSecret(text);
      at = after + 1;
      continue;
    }
    if (text !== "" && (secret || KEY.test(text))) {
      out += frame.slice(copied, quote + 1) + REDACTED;
      copied = end;
    }
    secret = false;
    at = end + 1;
  }
  return copied === 0 ? frame : out + frame.slice(copied);
}

function stringEnd(frame: string, from: number): number {
  let end = frame.indexOf('"', from);
  while (end >= 0) {
    let backslashes = 0;
    while (end - 1 - backslashes >= from && frame[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
    end = frame.indexOf('"', end + 1);
  }
  return frame.length;
}

function isSecret(name: string): boolean {
  const plain = name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
  return SECRET_MEMBERS.some((member) => plain === member || (member.length > 5 && plain.endsWith(member)));
}
