/** Globs: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of folders; and which names are hidden. */

/** Names that begin with `.` or `_` are markers and unfinished files (`_SUCCESS`, `.part.tmp`). A name such as `_year=2026` is a partition. */
export function isHidden(name: string): boolean {
  return name.startsWith(".") || (name.startsWith("_") && !name.includes("="));
}

/** Whether a name is left out where this part of a pattern has a wildcard: `_*` names hidden files, `*` does not. */
export function isSkipped(name: string, part: string): boolean {
  return isHidden(name) && !part.startsWith(name.charAt(0));
}

export function hasWildcard(text: string): boolean {
  return /[*?[{]/.test(text);
}

export function wildcard(part: string): RegExp {
  const source = part.replace(/\[(!?)([^\]]+)\]|[*?]|[\\^$.|+()[\]{}]/g, (found, not: string | undefined, set: string | undefined) => {
    if (set !== undefined) return `[${not === "!" ? "^" : ""}${set.replace(/[\\[\]^]/g, String.raw`\$&`)}]`;
    if (found === "*") return ".*";
    return found === "?" ? "." : `\\${found}`;
  });
  return new RegExp(`^${source}$`, "su");
}

export function expandBraces(pattern: string): string[] {
  const braces = /\{([^{}]*)\}/.exec(pattern);
  if (braces === null) return [pattern];
  const [before, after] = [pattern.slice(0, braces.index), pattern.slice(braces.index + braces[0].length)];
  return (braces[1] as string).split(",").flatMap((choice) => expandBraces(before + choice + after));
}

/**
 * Tests whole keys against a pattern without braces, by the rules of a walk through folders: a folder that the last part matches includes
 * everything inside.
 */
export function keyMatcher(pattern: string): (key: string) => boolean {
  const parts = pattern.split("/").filter((part) => part !== "");
  const tests = parts.map((part) => (hasWildcard(part) ? wildcard(part) : undefined));
  const matches = (names: readonly string[], name: number, part: number): boolean => {
    if (part === parts.length) return name > 0 && names.slice(name).every((below) => !isHidden(below));
    if (name === names.length) return false;
    const [wanted, found] = [parts[part] as string, names[name] as string];
    if (wanted === "**") {
      if (part === parts.length - 1) return names.slice(name).every((below) => !isHidden(below));
      return matches(names, name, part + 1) || (!isHidden(found) && matches(names, name + 1, part));
    }
    const test = tests[part];
    const isMatch = test === undefined ? wanted === found : !isSkipped(found, wanted) && test.test(found);
    return isMatch && matches(names, name + 1, part + 1);
  };
  return (key) => matches(key.split("/"), 0, 0);
}
