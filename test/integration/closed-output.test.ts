/**
 * A driver whose standard output nobody reads any more, as behind `| head`: what its workers print does not end it.
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
