/**
 * Patterns that texts are searched for: regular expressions of JavaScript, and those of SQL's `LIKE`.
 *
 * `expression.ts` checks them where the user wrote them, `texts.ts` searches. A regular expression travels with the flag `g`, so that it finds all matches.
 */
import { describeValue, messageOf } from "../../../core/internal.ts";

/** The pattern as it is searched for at all places. */
export function requirePattern(method: string, pattern: unknown): RegExp {
  if (pattern instanceof RegExp) {
    if (pattern.sticky)
      throw new TypeError(`Cannot call ${method}: it takes no regular expression with the flag y: received ${String(pattern)}`);
    return new RegExp(pattern.source, pattern.global ? pattern.flags : `${pattern.flags}g`);
  }
  if (typeof pattern !== "string")
    throw new TypeError(`Cannot call ${method}: it takes a regular expression: received ${describeValue(pattern)}`);
  try {
    return new RegExp(pattern, "gu");
  } catch (error) {
    throw new TypeError(`Cannot call ${method}: it takes a regular expression: ${messageOf(error)}`, { cause: error });
  }
}

/** The groups of a pattern, none of which has matched anything. */
export function groupsOf(pattern: RegExp): { readonly length: number; readonly groups?: Readonly<Record<string, unknown>> } {
  const { length, groups } = new RegExp(`${pattern.source}|`, pattern.flags.replace("g", "")).exec("") as RegExpExecArray;
  return { length: length - 1, ...(groups === undefined ? {} : { groups }) };
}

/**
 * Whether a text is like a pattern of SQL: `%` stands for any characters, `_` for one, and a backslash takes the meaning away from the next.
 *
 * The parts between `%` are searched one behind the other, each where it first comes, so that no pattern takes more than the product of both lengths.
 */
export function likeTest(pattern: string): (text: string) => boolean {
  const parts = [""];
  for (const [token] of pattern.matchAll(/\\?./gsu)) {
    const character = token.replace(/^\\(?=.)/su, "");
    if (token === "%") parts.push("");
    else parts[parts.length - 1] += token === "_" ? "." : character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  }
  const last = parts.length - 1;
  const searches = parts.map((part, i) => new RegExp(`${i === 0 ? "^" : ""}(?:${part})${i === last ? "$" : ""}`, "gsu"));
  return (text) => {
    let at = 0;
    return searches.every((search) => {
      search.lastIndex = at;
      const isFound = search.test(text);
      at = search.lastIndex;
      return isFound;
    });
  };
}
