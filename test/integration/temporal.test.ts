/**
 * Values of Temporal, which Node has from version 26 on: a separate program runs there.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram } from "../house/run-program.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { useFolder } from "./session.ts";

const folder = useFolder();

test("arrive as arguments, in results, inside others and captured, in both modes", { timeout: 120_000 }, async () => {
  const node = execFileSync(process.execPath, [join(REPOSITORY, "scripts", "node-path.mjs"), "26"], { encoding: "utf8" }).trim();
  const program = join(folder, "program.mjs");
  writeFileSync(
    program,
    `import assert from "node:assert";
    import { init, put, remote, shutdown } from ${JSON.stringify(join(REPOSITORY, "dist", "index.js"))};
    const T = Temporal;
    const duration = T.Duration.from({ days: 1, milliseconds: 1500, nanoseconds: -0 });
    const values = [
      T.Instant.fromEpochNanoseconds(1234567890123456789n), T.ZonedDateTime.from("2026-10-25T02:30:00.123456789+01:00[Europe/Berlin]"),
      T.PlainDateTime.from("2026-01-02T03:04:05.000000001"), T.PlainDate.from("2026-01-02[u-ca=hebrew]"), T.PlainTime.from("23:59:59.9"),
      T.PlainYearMonth.from("2026-02"), T.PlainMonthDay.from("02-29"), duration,
    ];
    for (const mode of ["process", "inProcess"]) {
      await init({ numCpus: 1, mode });
      const echo = remote((value) => value);
      const isSame = (value, other) => value.constructor === other.constructor && String(value) === String(other);
      for (const value of values) assert(isSame(await echo.remote(value), value), String(value));
      const inside = await echo.remote({ list: [values[1]], map: new Map([["key", values[3]]]), made: class Own { at = values[0]; } });
      assert(isSame(inside.list[0], values[1]) && isSame(inside.map.get("key"), values[3]) && isSame(new inside.made().at, values[0]));
      assert(isSame(await put(values[2]), values[2]));
      assert.equal(await remote(() => values[3].add({ days: 1 }).calendarId + values.length).remote(), "hebrew8");
      assert.equal((await echo.remote(duration)).milliseconds, 1500);
      await shutdown();
    }
    console.log("all arrived");`,
  );
  expect(await runProgram([program], { program: node })).toMatchObject({ stdout: "all arrived\n", stderr: "", exitCode: 0 });
});
