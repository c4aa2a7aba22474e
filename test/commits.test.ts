/**
 * Holds the form of commit messages: `scope: imperative` in at most 72 characters, an empty line, and a body that says why.
 *
 * Looks at the commits since the rule exists. A tree without its history (a tarball, a shallow clone) has nothing to look at.
 */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { REPOSITORY } from "./house/source-files.ts";

/** The last commit before the rule. */
const BEFORE_THE_RULE = "9f4b3f60040bedfc897b7418390c3f93877f41aa";
const SUBJECT_LENGTH_MAX = 72;
const SUBJECT = /^[a-z][a-z0-9-]*(, [a-z][a-z0-9-]*)*: [a-z]\S* .*[^.]$/;

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly body: string;
}

/** Newest first; none where git or the old commit is not there. */
function commitsSinceTheRule(): Commit[] {
  try {
    const log = execFileSync("git", ["log", "--no-merges", "--format=%h%x00%s%x00%b%x01", `${BEFORE_THE_RULE}..HEAD`], {
      cwd: REPOSITORY,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return log
      .split("\u0001")
      .map((entry) => entry.trim().split("\0"))
      .filter((parts) => parts.length === 3)
      .map(([hash = "", subject = "", body = ""]) => ({ hash, subject, body: body.trim() }));
  } catch {
    return [];
  }
}

function faultsOf({ hash, subject, body }: Commit): string[] {
  const faults: string[] = [];
  if (subject.length > SUBJECT_LENGTH_MAX)
    faults.push(`${hash}: the subject has ${subject.length} characters, ${SUBJECT_LENGTH_MAX} are allowed`);
  if (!SUBJECT.test(subject)) faults.push(`${hash}: the subject is not "scope: imperative": ${subject}`);
  if (body === "") faults.push(`${hash}: there is no body that says why: ${subject}`);
  return faults;
}

test("commit messages have a scope, a short subject and a body", () => {
  expect(commitsSinceTheRule().flatMap(faultsOf)).toEqual([]);
});

test.each([
  ["wire: refuse a frame without a header", "It crashed the daemon.", 0],
  ["wire, rpc: refuse a frame", "Why.", 0],
  ["Refuse a frame without a header", "Why.", 1],
  ["wire: refuse a frame without a header.", "Why.", 1],
  ["wire: refuse a frame", "", 1],
  [`wire: ${"very ".repeat(14)}long`, "Why.", 1],
])("%s", (subject, body, count) => {
  expect(faultsOf({ hash: "0", subject, body })).toHaveLength(count);
});
