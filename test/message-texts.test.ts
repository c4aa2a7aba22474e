/**
 * Holds that no decision of ours is taken from a text that is meant for people: an error's message, a reason, a hint.
 *
 * Codes decide (`runtime/wire/wire-error.ts`, `ShoalError.code`, `details`). Found by form: a test or a comparison of something that bears the name of such a text. Output of programs
 * that are not ours has no codes; the files that read it are named here.
 */
import { expect, test } from "vitest";
import { readCode } from "./house/source-files.ts";

const TEXTS = String.raw`(?:\w+\.)*#?(?:message|reason|hint|refusal|failure|problem|said|stderr|remoteStack|closeReason)`;
const TESTED = new RegExp(
  String.raw`\b${TEXTS}\)?(?:\?|!)?(?:\.toString\(\)\??)?\.(?:includes|startsWith|endsWith|match|matchAll|indexOf|lastIndexOf|search)\(`,
);
const MATCHED = new RegExp(String.raw`\.(?:test|exec)\(\s*(?:String\()?(?:\((?:\w+ as \w+\)\.))?${TEXTS}\b\s*[),?]`);
const COMPARED = new RegExp(String.raw`(?<!typeof [\w.]*)\b${TEXTS}(?:\?)?\s*(?:===|!==)\s*(?:["'\x60](?!["'\x60])|[A-Z][A-Z_]+\b)`);
const IN_PYTHON = new RegExp(
  String.raw`\b(?:error|message|reason|refusal|str\(\w+\))(?:\.(?:startswith|endswith|find|index|partition)\(|\s*==\s*(?:["']|[A-Z][A-Z_]+\b))|["']\s+in\s+(?:str\(|error\b|reason\b|refusal\b)`,
);

/** By file, foreign errors whose texts it reads. */
const OF_OTHERS: Readonly<Record<string, string>> = {
  "src/ops/autoscaler/providers/kubernetes/kubernetes-provider.ts": "what Kubernetes says of a quota, which has no code of its own",
  "src/runtime/wire/value/limits.ts": "what V8 says of a full stack",
};

function decidesByText(line: string, isPython: boolean): boolean {
  const code = line.replace(isPython ? /#.*$/ : /\/\/.*$/, "");
  if (/^\s*\*/.test(code)) return false;
  return isPython ? IN_PYTHON.test(code) : [TESTED, MATCHED, COMPARED].some((form) => form.test(code));
}

test("no decision is taken from a text for people", () => {
  const breaches = readCode()
    .filter(
      ({ path }) =>
        (path.startsWith("src/") || path.startsWith("python/shoal/")) && !path.endsWith(".test.ts") && OF_OTHERS[path] === undefined,
    )
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) => (decidesByText(line, path.endsWith(".py")) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
    );
  expect(breaches).toEqual([]);
});

test.each([
  ["if (reason.startsWith(DEAD_NODE)) end();", true],
  ['reason?.includes("exists already") === true', true],
  ["const isWhole = reason === CLOSED_BY_PEER;", true],
  ['error.reason === "it was terminated"', true],
  ["error.message?.toString().includes(name)", true],
  ["/terminated/.test(reason)", true],
  ["const found = /^x/.exec((error as Error).message);", true],
  ["KNOWN.some((text) => text.test(reason))", true],
  ['error.code === "nameTaken"', false],
  ["if (refusal === undefined) return;", false],
  ["// reason.startsWith(x)", false],
])("the rule takes %s for a decision by a text: %s", (line, isBreach) => {
  expect(decidesByText(line, false)).toBe(isBreach);
});

test.each([
  ['if error.startswith("ObjectLostError"):', true],
  ["reason == CLOSED_BY_PEER", true],
  ['if "exists" in str(error):', true],
  ['is_wire_error(error, "objectLost")', false],
])("and of Python %s: %s", (line, isBreach) => {
  expect(decidesByText(line, true)).toBe(isBreach);
});
