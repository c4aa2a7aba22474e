/** The tables that our schedulers are held against are those that Ray decides today: they are recorded anew, with the real Ray, and compared. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../house/source-files.ts";
import { pythonWithRay } from "./python-searchers.ts";

interface Recorded {
  tables: { name: string; scheduler: string; events: { type: string; exploits?: { config: unknown }[]; config?: unknown }[] }[];
}

/** PB2's configurations come from scikit-learn's optimizer, whose last digits depend on the processor. */
function comparable({ tables, ...rest }: Recorded): unknown {
  const withoutModel = tables.map((table) =>
    table.scheduler === "pb2"
      ? { ...table, events: table.events.map((event) => ({ ...event, exploits: event.exploits?.map(({ config: _, ...other }) => other) })) }
      : table,
  );
  return { ...rest, tables: withoutModel };
}

test("Ray's schedulers decide as recorded", { timeout: 600_000 }, () => {
  const program = join(REPOSITORY, "test", "systems", "ray_schedulers.py");
  const output = execFileSync(pythonWithRay(), [program], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const kept = readFileSync(join(REPOSITORY, "test", "vectors", "tune", "schedulers.json"), "utf8");
  const [fresh, recorded] = [output, kept].map((text) => JSON.parse(text) as Recorded) as [Recorded, Recorded];
  expect(recorded.tables.length).toBeGreaterThanOrEqual(50);
  expect(comparable(fresh)).toEqual(comparable(recorded));
});
