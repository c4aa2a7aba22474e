/** Compiled modules are kept from process to process, and never believed when they should not be. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";
import { useFolder } from "./session.ts";

const sandbox = new Sandbox();
afterEach(() => sandbox.mustBeEmpty());
afterAll(() => sandbox.remove());
const folder = useFolder();

/** Returns the caches of the driver and of a worker, and the answer of an imported module's class. */
const program = (caches: string, answer: number): Promise<string[]> => {
  const file = join(folder, "answers.ts");
  writeFileSync(file, `export class Answers { answer(): number { return ${answer}; } }`);
  const source = `
    import module from "node:module";
    import { get, init, remote, shutdown } from "shoal";
    import { Answers } from ${JSON.stringify(file)};
    await init({ numCpus: 1 });
    const own = module.getCompileCacheDir();
    const worker = remote(() => process.getBuiltinModule("node:module").getCompileCacheDir());
    console.log([own, await get(worker.remote()), await get(remote(Answers).remote().answer.remote())].join());
    await shutdown();
  `;
  return sandbox.run(source, { env: { XDG_CACHE_HOME: caches }, timeoutMs: 50_000 }).then(({ exitCode, stdout, stderr }) => {
    expect([exitCode, stderr]).toEqual([0, ""]);
    return stdout.trim().split(",");
  });
};

const filesIn = (caches: string): string[] => {
  const code = join(caches, "shoal", "code");
  const names = existsSync(code) ? readdirSync(code, { recursive: true, encoding: "utf8" }) : [];
  return names.map((name) => join(code, name)).filter((path) => statSync(path).isFile());
};

test("workers keep what they compiled in a folder of this user, the driver keeps nothing", async () => {
  const caches = join(folder, "kept");
  const [driver, worker, answer] = await program(caches, 1);
  expect([driver, answer]).toEqual(["", "1"]);
  expect(worker?.startsWith(join(caches, "shoal", "code"))).toBe(true);
  expect(filesIn(caches).length).toBeGreaterThan(2);
  expect(statSync(join(caches, "shoal", "code")).mode & 0o777).toBe(0o700);
  // A changed module is not mistaken for its former self, nor a damaged file for code.
  expect((await program(caches, 2))[2]).toBe("2");
  for (const file of filesIn(caches)) writeFileSync(file, "damaged".repeat(100));
  expect((await program(caches, 3))[2]).toBe("3");
});

test("a folder that others may write to is not used, and one that cannot be made is done without", async () => {
  const open = join(folder, "open");
  mkdirSync(join(open, "shoal", "code"), { recursive: true });
  chmodSync(join(open, "shoal", "code"), 0o777);
  expect(await program(open, 4)).toEqual(["", "", "4"]);
  expect(filesIn(open)).toEqual([]);
  expect(await program("/dev/null", 5)).toEqual(["", "", "5"]);
});
