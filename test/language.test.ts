/**
 * Holds that prose gets plainer: by folder, the places that a reader has to decode may only become fewer. `-u` writes smaller counts; larger ones it never writes.
 *
 * A folder that is not in the list begins at zero. `npm test -- test/language.test.ts` names the places of a folder that has too many.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filesWithProse, folderOf, type Habit, HABITS, type Place, placesIn } from "./house/language.ts";
import { REPOSITORY } from "./house/source-files.ts";

const COUNTS = join(REPOSITORY, "test", "house", "language-counts.json");
const PLACES_SHOWN_MAX = 40;

type Counts = Readonly<Partial<Record<Habit, number>>>;

test("no folder has more sentences that are hard to read than before", async () => {
  const kept = JSON.parse(await readFile(COUNTS, "utf8").catch(() => "{}")) as Readonly<Record<string, Counts>>;
  const found = new Map<string, (Place & { path: string })[]>();
  for (const { path, text } of filesWithProse()) {
    const folder = folderOf(path);
    const places = found.get(folder) ?? [];
    found.set(folder, places);
    for (const place of placesIn(path, text)) places.push({ path, ...place });
  }
  const rises: string[] = [];
  const counts: Record<string, Counts> = {};
  for (const [folder, places] of found) {
    const row: Partial<Record<Habit, number>> = {};
    for (const habit of HABITS) {
      const here = places.filter((place) => place.habit === habit);
      const before = kept[folder]?.[habit] ?? 0;
      if (here.length > before) {
        rises.push(`${folder}: ${habit} ${here.length}, before ${before}`);
        rises.push(...here.slice(0, PLACES_SHOWN_MAX).map(({ path, line, text }) => `  ${path}:${line}: ${text}`));
      }
      const count = Math.min(here.length, before);
      if (count > 0) row[habit] = count;
    }
    if (Object.keys(row).length > 0) counts[folder] = row;
  }
  expect(rises.join("\n")).toBe("");
  await expect(`${JSON.stringify(counts, undefined, 2)}\n`).toMatchFileSnapshot(COUNTS);
});

const habitsIn = (path: string, source: string): Habit[] => placesIn(path, source).map(({ habit }) => habit);

test.each<[string, Habit[]]>([
  ["// It is sent again.", ["opener"]],
  ["// What a rank's error means is decided there.", ["opener", "headless"]],
  ["// This file is generated.", []],
  ["// One of the workers ends.", []],
  ["// Those that wait go first.", ["opener"]],
  ["// Frees whatever the task holds.", ["headless"]],
  ["// Asks what the node has.", []],
  ["// Sent to who asked first.", ["headless"]],
  ["// A process who asks is answered.", []],
  ["// The end of it.", ["ofIt"]],
  ["// The caller keeps his copy.", ["person"]],
  [`/** ${"word ".repeat(36)}. */`, ["longSentence"]],
  ["let a = 1; // It is one.", ["opener"]],
  ['const text = "// It is no comment";', []],
  ["// The first line\n// of it all.", ["ofIt"]],
  ["/**\n * Starts.\n *\n * They wait.\n */", ["opener"]],
  ["// oxlint-disable-next-line it is", []],
])("in code %j has %j", (source, habits) => {
  expect(habitsIn("x.ts", source)).toEqual(habits);
});

test.each<[string, Habit[]]>([
  ["It is there.", ["opener"]],
  ["# What it is\n\nPlain.", []],
  ["| It is |\n|---|", []],
  ["```\nIt is code.\n```", []],
  ["w".repeat(141), ["wideLine"]],
  ["- They wait.\n- Tasks run.", ["opener"]],
])("in a document %j has %j", (source, habits) => {
  expect(habitsIn("x.md", source)).toEqual(habits);
});

test.each<[string, Habit[]]>([
  ["# Nobody waits.\n", ["opener"]],
  ['def f():\n    """They wait."""\n', ["opener"]],
  ['text = "# They wait"\n', []],
])("in Python %j has %j", (source, habits) => {
  expect(habitsIn("x.py", source)).toEqual(habits);
});
