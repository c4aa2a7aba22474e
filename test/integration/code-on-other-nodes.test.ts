/**
 * A driver's code on a node that has none of its files: a program in a folder of its own, two nodes on this machine, tasks and actors on the node that is not the
 * driver's. What is checked there is said by the program in one line of JSON.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const REPOSITORY = new URL("../../", import.meta.url).pathname;
let root: string;
let cluster: TestCluster;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "test-shoal-code-")));
  cluster = await TestCluster.start({ head: { numCpus: 2 } });
  await cluster.addNode({ numCpus: 2, resources: { other: 10 } });
});
afterAll(async () => {
  await cluster?.shutdown();
  rmSync(root, { recursive: true, force: true });
});

/** A folder with the files of a program, and the runtime where a program has it. */
function project(name: string, files: Record<string, string>): string {
  const folder = join(root, name);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  return folder;
}

const HEAD = `import { init, remote, get, getRuntimeContext, shutdown } from "${REPOSITORY}dist/index.js";
const there = { resources: { other: 1 } };
const say = (value) => console.log("SAYS " + JSON.stringify(value));
`;

/** What `main.ts` of the folder says at its end. */
async function run(folder: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ["main.ts"], {
    cwd: folder,
    env: { ...process.env, SHOAL_TEST_ADDRESS: cluster.address },
  });
  return JSON.parse(/^SAYS (.*)$/m.exec(stdout)?.[1] ?? `"${stdout}"`);
}

const START = `await init({ address: process.env["SHOAL_TEST_ADDRESS"] });\n`;

describe("a task on the other node", () => {
  test("runs in a copy of the driver's folder, with its files and what it imports", async () => {
    const folder = project("files", {
      "main.ts": `${HEAD}import { words } from "./src/words.ts";
        ${START}
        class Look { async look() { return  [words(), process.cwd(), getRuntimeContext().jobId, getRuntimeContext().namespace, (await import("./src/words.ts")).words()]; } }
        const look = remote(Look).options(there).remote();
        const context = getRuntimeContext();
        say([await look.look.remote(), context.jobId, context.namespace]);
        await shutdown();`,
      "src/words.ts": `import { readFileSync } from "node:fs";
        export function words(): string { return readFileSync("data.txt", "utf8"); }`,
      "data.txt": "from the driver",
    });
    const [seen, jobId, namespace] = (await run(folder)) as [string[], string, string];
    expect(seen[0]).toBe("from the driver");
    expect(seen[1]).not.toBe(folder);
    expect(seen.slice(2)).toEqual([jobId, namespace, "from the driver"]);
  });
});
