/**
 * Figures of training: what a loop on two ranks has timed, in a program of its own that trains twice. The second run counts, as the first one also starts what later ones find; its own value is in the details.
 *
 * `programs/train.ts` and `ray/train.py` are the two sides; the loops are one file.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bar, HarnessFigure } from "./figure.ts";

interface TrainFigureFacts {
  readonly name: string;
  readonly title: string;
  readonly goal: Bar;
  readonly floor: Bar;
}

export function trainFigure({ name, title, goal, floor }: TrainFigureFacts): HarnessFigure {
  return {
    where: "harness",
    name,
    title,
    unit: "ms",
    higherIsBetter: false,
    goal,
    floor,
    async observe(subject, plan) {
      const folder = mkdtempSync(join(tmpdir(), "shoal-bench-train-"));
      try {
        await using child = subject.start("train", plan, [name.replace("train-", ""), folder]);
        await child.succeeded();
        const json = /^facts (.*)$/m.exec(child.outputTail)?.[1];
        if (json === undefined) throw new Error(`The program told no facts\n${child.outputTail}`);
        const { first, later } = JSON.parse(json) as { first: number[]; later: number[] };
        return { samples: later, details: { firstMs: first[0] ?? Number.NaN } };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}
