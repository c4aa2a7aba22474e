/** Losses and gradients of PPO, with and without an LSTM, beside fresh figures of PyTorch; the recorded ones are those of `npm test`. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { init, shutdown } from "../../src/index.ts";
import { environment } from "../frameworks/environments.ts";
import { REPOSITORY } from "../house/source-files.ts";
import { unless } from "../integration/python-places.ts";
import { expectPPOLosses, type RecordedPPO } from "../oracles/ppo-losses.ts";

const found = environment("torch");
const problem = "problem" in found ? found.problem : undefined;
const venv = "venv" in found ? found.venv : "";
const VECTORS = join(REPOSITORY, "test", "vectors", "rl");

type Recorded = Readonly<Record<string, unknown>> & { readonly ppo: readonly RecordedPPO[] };

/** Numbers that were compared, and those that differ. */
function difference(one: unknown, other: unknown): number {
  if (typeof one === "number") return Math.abs(one - (other as number));
  if (typeof one !== "object" || one === null) return one === other ? 0 : Infinity;
  return Math.max(0, ...Object.entries(one).map(([name, value]) => difference(value, (other as Record<string, unknown>)[name])));
}

describe.skipIf(problem !== undefined)(`losses beside PyTorch${unless(problem)}`, () => {
  const printed = (script = "record_losses.py"): string =>
    execFileSync(join(venv, "bin", "python3"), [join(VECTORS, script)], { encoding: "utf8" });

  test("fresh figures are the recorded ones, and those of our learner", async () => {
    const fresh = JSON.parse(printed()) as Recorded;
    const recorded = JSON.parse(readFileSync(join(VECTORS, "losses.json"), "utf8")) as Recorded;
    expect(difference(recorded, fresh)).toBeLessThan(1e-5);
    for (const each of fresh.ppo) await expectPPOLosses(each);
  });

  test("a network in PyTorch has the losses and gradients of an update wholly in PyTorch", async () => {
    await init({ numCpus: 2, logToDriver: false });
    try {
      const fresh = JSON.parse(printed()) as Recorded;
      const plain = fresh.ppo.filter(({ recurrent }) => !recurrent);
      expect(plain).toHaveLength(1);
      for (const each of plain) await expectPPOLosses(each, venv);
    } finally {
      await shutdown();
    }
  });

  test("fresh figures of teams are the recorded ones", () => {
    const recorded = JSON.parse(readFileSync(join(VECTORS, "teams.json"), "utf8")) as unknown;
    expect(difference(recorded, JSON.parse(printed("record_teams.py")))).toBeLessThan(1e-5);
  });
});
