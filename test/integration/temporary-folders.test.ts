/** Nothing stays in the temporary folder: neither folders that many processes share, nor those of a test cluster whose program fails. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ProgramRun, runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { until, useFolder } from "./session.ts";

const folder = useFolder();
const SOURCES = join(REPOSITORY, "src");

async function programIn(temporary: string, text: string): Promise<ProgramRun> {
  mkdirSync(temporary, { recursive: true });
  const file = join(REPOSITORY, "test", "integration", `.program-${process.pid}-${Math.random()}.ts`);
  writeFileSync(file, text);
  try {
    return await runProgram([file], { env: { TMPDIR: temporary } });
  } finally {
    rmSync(file);
  }
}

test("a folder that many come to and leave at once loses nobody's file, and is gone with the last", async () => {
  const shared = join(folder, "shared");
  // Each process has its file for a moment, and goes on until it has found the folder gone, and made it, 25 times.
  const text = `
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { writePrivateFile } from ${JSON.stringify(join(SOURCES, "runtime", "os", "files", "private-files.ts"))};
import { leaveSharedFolder, writeInSharedFolder } from ${JSON.stringify(join(SOURCES, "runtime", "os", "files", "sessions", "shared-folder.ts"))};
const folder = ${JSON.stringify(shared)};
const file = join(folder, process.pid + ".json");
let made = 0;
for (let round = 0; round < 400 || made < 25; round += 1) {
  if (!existsSync(folder)) made += 1;
  writeInSharedFolder(folder, () => writePrivateFile(file, String(round)));
  if (readFileSync(file, "utf8") !== String(round)) throw new Error("the file is another's");
  leaveSharedFolder(folder, file);
}
`;
  const runs = await Promise.all([1, 2, 3, 4].map(() => programIn(folder, text)));
  expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(runs.map(() => [0, ""]));
  expect(existsSync(shared)).toBe(false);
});

const CLUSTER = 'import { TestCluster } from "shoal/testing";\nimport { init, remote, shutdown } from "shoal";\n';

test.each([
  ["ends in order", "await shutdown(); await cluster.shutdown();", 0],
  ["throws what nobody catches", 'throw new Error("a fault of the program");', 1],
  ["throws later on", 'setTimeout(() => { throw new Error("a fault of the program"); }, 50);', 1],
  ["leaves its session open", "process.exit(3);", 3],
])("a test cluster whose program %s leaves nothing", async (what, end, exitCode) => {
  const temporary = join(folder, what.replaceAll(" ", "-"));
  const text = `${CLUSTER}
const cluster = await TestCluster.start({ head: { numCpus: 1 } });
await init({ address: cluster.address });
if ((await remote((x: number) => x + 1).remote(1)) !== 2) throw new Error("wrong");
${end}
`;
  const ran = await programIn(temporary, text);
  expect([ran.exitCode, ran.stderr]).toEqual([
    exitCode,
    exitCode === 1 ? (expect.stringContaining("a fault of the program") as string) : "",
  ]);
  // The processes of the cluster notice that their program has gone, and remove their files.
  await until(() => readdirSync(temporary).length === 0, "the temporary folder to be empty", { withinMs: 20_000 });
});

test("one that could not start, or whose program was killed, leaves nothing either", async () => {
  const temporary = join(folder, "killed");
  await programIn(temporary, `${CLUSTER}await TestCluster.start({ heads: 2 }).catch(() => {}); void init; void remote; void shutdown;`);
  expect(readdirSync(temporary)).toEqual([]);
  const killed = `${CLUSTER}await TestCluster.start({ head: { numCpus: 1 } }); void init; void remote; void shutdown; process.kill(process.pid, "SIGKILL");`;
  await programIn(temporary, killed);
  // The folder of a program that could not remove it goes with the next session, which finds its maker dead.
  await until(() => readdirSync(temporary).every((name) => name.startsWith("shoal-test-")), "its processes to end", { withinMs: 20_000 });
  const next = await programIn(temporary, 'import { init, shutdown } from "shoal"; await init(); await shutdown();');
  expect(next.exitCode).toBe(0);
  await until(() => readdirSync(temporary).length === 0, "the temporary folder to be empty", { withinMs: 20_000 });
});
