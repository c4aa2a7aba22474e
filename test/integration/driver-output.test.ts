/**
 * The output of workers at a driver whose standard output is read slowly, or not at all any more, as behind `| head`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { useFolder } from "./session.ts";

const folder = useFolder();

test("a task that prints after the reader has gone fails nobody", async () => {
  const done = join(folder, "done");
  const program = join(folder, "program.mjs");
  writeFileSync(
    program,
    `import { writeFileSync } from "node:fs";
    import { get, init, remote, shutdown } from ${JSON.stringify(join(REPOSITORY, "dist", "index.js"))};
    await init({ numCpus: 1 });
    const print = remote(async (n) => {
      for (let line = 0; line < 200; line += 1) {
        console.log("line", n, line);
        if (line % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return n;
    });
    const values = [];
    for (let n = 0; n < 5; n += 1) values.push(await print.remote(n));
    writeFileSync(${JSON.stringify(done)}, values.join());
    await shutdown();
    `,
  );
  const run = await runProgram(["-c", `"${process.execPath}" "${program}" | head -n 1`], { program: "sh" });
  expect(run.stdout).toMatch(/line 0 0\n$/);
  expect(run.stderr).not.toContain("EPIPE");
  expect(existsSync(done)).toBe(true);
  expect(readFileSync(done, "utf8")).toBe("0,1,2,3,4");
});

test("all of a large output has been printed when shutdown is over", async () => {
  const program = join(folder, "much.mjs");
  writeFileSync(
    program,
    `import { get, init, remote, shutdown } from ${JSON.stringify(join(REPOSITORY, "dist", "index.js"))};
    await init({ numCpus: 2 });
    const print = remote((count) => {
      for (let line = 0; line < count; line += 1) console.log("line", line);
    });
    await get([print.remote(100_000), print.remote(100_000)]);
    await shutdown();
    `,
  );
  const run = await runProgram(["-c", `"${process.execPath}" "${program}" | wc -l`], { program: "sh" });
  expect([run.stdout.trim(), run.stderr]).toEqual(["200000", ""]);
});
