/**
 * Texts of the cluster as the page shows them: names and errors are written by users' programs, and may try to look like something else.
 *
 * Control characters, marks of direction, lone surrogates and other characters without a picture become escapes. Long texts are cut.
 */

const WITHOUT_PICTURE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** On one line. */
export function visibleText(text: string, charactersMax = 300): string {
  const isLong = text.length > charactersMax;
  return `${(isLong ? text.slice(0, charactersMax) : text).replace(WITHOUT_PICTURE, escapeOf)}${isLong ? "…" : ""}`;
}

/** Keeps the lines. */
export function visibleLines(text: string, charactersMax = 20_000): string {
  const cut = text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
  return cut
    .split("\n")
    .map((line) => visibleText(line, charactersMax + 1))
    .join("\n");
}

function escapeOf(character: string): string {
  return NAMED[character] ?? `\\u{${(character.codePointAt(0) as number).toString(16)}}`;
}
