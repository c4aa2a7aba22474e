/**
 * Counts the words in every `.md` and `.ts` file under a folder, as a tree of tasks: a task for each folder, which starts one for each
 * folder inside it. An actor adds up the counts.
 *
 *   node examples/word-count.ts FOLDER
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ActorHandle, get, remote, type RemoteFunction, shutdown } from "shoal";

const TOP = 20;
const FILE_NAME = /\.(md|ts)$/;
/** Other people's files and the results of a build are not what anyone wants counted. */
const SKIPPED_FOLDERS = new Set(["node_modules", "dist"]);

/** An actor: one process in which the counts of all tasks come together. */
class WordCounts {
  #counts = new Map<string, number>();

  add(counts: ReadonlyMap<string, number>): void {
    for (const [word, count] of counts) this.#counts.set(word, (this.#counts.get(word) ?? 0) + count);
  }

  top(size: number): [word: string, count: number][] {
    return [...this.#counts].sort(([, left], [, right]) => right - left).slice(0, size);
  }
}

interface FolderSummary {
  files: number;
  folders: number;
  words: number;
}

const countFolder: RemoteFunction<[folder: string, totals: ActorHandle<WordCounts>], Promise<FolderSummary>> = remote(
  async (folder: string, totals: ActorHandle<WordCounts>): Promise<FolderSummary> => {
    const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
    const subfolders = entries.filter((entry) => entry.isDirectory() && !SKIPPED_FOLDERS.has(entry.name));
    const summaries = subfolders.map(({ name }) => countFolder.remote(join(folder, name), totals));

    const files = entries.filter((entry) => entry.isFile() && FILE_NAME.test(entry.name));
    const counts = new Map<string, number>();
    let words = 0;
    for (const { name } of files) {
      for (const word of wordsOf(await readFile(join(folder, name), "utf8"))) {
        counts.set(word, (counts.get(word) ?? 0) + 1);
        words++;
      }
    }
    // Waits for the actor, so that everything is added up when the tree is done.
    await totals.add.remote(counts);

    const summary: FolderSummary = { files: files.length, folders: 1, words };
    for (const below of await get(summaries)) {
      summary.files += below.files;
      summary.folders += below.folders;
      summary.words += below.words;
    }
    return summary;
  },
);

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{Letter}+/gu) ?? [];
}

async function main(): Promise<void> {
  const folder = process.argv[2];
  if (folder === undefined || process.argv.length > 3 || !(await isFolder(folder))) {
    const reason = folder === undefined ? "no folder was named" : `there is no folder "${folder}"`;
    console.error(
      `word-count: ${process.argv.length > 3 ? "more than one folder was named" : reason}\nusage: node examples/word-count.ts FOLDER`,
    );
    process.exitCode = 2;
    return;
  }
  try {
    using totals = remote(WordCounts).remote();
    const { files, folders, words } = await countFolder.remote(folder, totals);
    console.log(`${words} words in ${files} files in ${folders} folders`);
    for (const [word, count] of await totals.top.remote(TOP)) console.log(`${String(count).padStart(8)}  ${word}`);
  } finally {
    await shutdown();
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}

await main();
