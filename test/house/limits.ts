/**
 * The limits of the product as the rule about them sees them: which there are, where, and with what value.
 *
 * A limit is a constant with a number whose name ends with its unit. Found by form, as in `source-files.ts`; the values of `limits.ts` files are those of the modules, so that computed ones
 * count, too. Makes `python/shoal/_limits.py`, which has what Python imports from it. Called by `test/limits.test.ts`.
 */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";
import { readCode, readSources, REPOSITORY, type SourceFile } from "./source-files.ts";

interface Limit {
  readonly name: string;
  /** Relative to `src`, or to the repository for Python. */
  readonly path: string;
  readonly isExported: boolean;
  /** Undefined for one that is computed from others. */
  readonly value: number | undefined;
}

const DECLARED =
  /^(?<exported>export )?(?:const )?_?(?<name>[A-Z][A-Z0-9_]*_(?:MS|SECONDS|BYTES|MAX|MIN|FRACTION|FACTOR))(?:: number)? = (?<value>[^;\n]*)/gm;
const NUMBERS_ALONE = /^[\d_.\s()*+/-]+$/;

export function limitsIn({ path, text }: Pick<SourceFile, "path" | "text">): Limit[] {
  return Array.from(text.matchAll(DECLARED), ({ groups }) => {
    const { exported, name = "", value = "" } = groups ?? {};
    const isNumber = NUMBERS_ALONE.test(value);
    return { name, path, isExported: exported !== undefined, value: isNumber ? (runInThisContext(value) as number) : undefined };
  });
}

export const isLimitsFile = (path: string): boolean => /(^|\/)limits\.ts$/.test(path);

/** Returns a line for each limit whose readers all lie below a nearer `limits.ts` than its own. */
export function farLimits(files: readonly SourceFile[]): string[] {
  const homes = files.filter(({ path }) => isLimitsFile(path));
  return homes.flatMap((home) =>
    limitsIn(home).flatMap(({ name }) => {
      const readers = files.filter(({ imports }) =>
        imports.some(({ target, names }) => target === home.path && (names === "all" || names.includes(name))),
      );
      const nearer = homes.find(
        ({ path }) =>
          path !== home.path &&
          path.startsWith(`${dirname(home.path)}/`) &&
          readers.length > 0 &&
          readers.every((reader) => reader.path.startsWith(`${dirname(path)}/`)),
      );
      return nearer === undefined ? [] : [`src/${home.path}: ${name} belongs into src/${nearer.path}, beside its readers`];
    }),
  );
}

/** By file relative to `src`, the numbers that each `limits.ts` exports. */
export async function readLimitModules(): Promise<ReadonlyMap<string, Readonly<Record<string, number>>>> {
  const paths = readSources()
    .map(({ path }) => path)
    .filter(isLimitsFile);
  const modules = await Promise.all(
    paths.map(async (path) => {
      const module = (await import(pathToFileURL(join(REPOSITORY, "src", path)).href)) as Record<string, unknown>;
      const numbers = Object.entries(module).filter((entry): entry is [string, number] => typeof entry[1] === "number");
      return [path, Object.fromEntries(numbers)] as const;
    }),
  );
  return new Map(modules);
}

/** @throws Error for a name that Python imports and no `limits.ts` has, or two have */
export function pythonLimits(modules: ReadonlyMap<string, Readonly<Record<string, number>>>, wanted: ReadonlySet<string>): string {
  const rows = Array.from(wanted, (name) => {
    const ofTypeScript = name.replace(/_SECONDS$/, "_MS");
    const [found, ...more] = Array.from(modules).filter(([, limits]) => Object.hasOwn(limits, ofTypeScript));
    if (found === undefined || more.length > 0)
      throw new Error(`Cannot make _limits.py: ${found ? "two files have" : "no file has"} ${ofTypeScript}`);
    const value = found[1][ofTypeScript] as number;
    return { path: found[0], text: `${name} = ${name === ofTypeScript ? value : seconds(value)}` };
  });
  const sections = Array.from(Map.groupBy(rows, ({ path }) => path)).sort(([left], [right]) => (left < right ? -1 : 1));
  return [
    '"""Limits that workers of both languages share: what Python uses of the ``limits.ts`` files of ``src``, which give the reasons.\n',
    "This file is made from them (``npm test -- test/limits.test.ts -u``).",
    '"""\n',
    ...sections.flatMap(([path, of]) => [`# src/${path}`, ...of.map(({ text }) => text).sort(), ""]),
  ].join("\n");
}

/** The names that modules of Python import from `_limits`. */
export function wantedByPython(): Set<string> {
  const lists = readCode()
    .filter(({ path }) => path.startsWith("python/shoal/"))
    .flatMap(({ text }) => Array.from(text.matchAll(/^from \._limits import (\([^)]*\)|.*)$/gm), ([, names = ""]) => names));
  return new Set(lists.flatMap((names) => names.match(/\w+/g) ?? []));
}

function seconds(ms: number): string {
  return Number.isInteger(ms / 1000) ? `${ms / 1000}.0` : String(ms / 1000);
}
