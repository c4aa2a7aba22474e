/**
 * Figures of training: the times of a loop in a separate program. The program trains once, or twice and counts the second run, as the first
 * one also starts processes that later ones find.
 *
 * `programs/train.ts` and `ray/train.py` are the two sides; the loops (`ray/train_loops.py`, `ray/ddp_steps.py`) are the same files on both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "./child.ts";
import type { Bar, Details, HarnessFigure, Measurement, Plan } from "./figure.ts";
import type { Subject } from "./subject.ts";

interface TrainFigureFacts {
  readonly name: string;
  readonly title: string;
  readonly goal: Bar;
  readonly floor: Bar;
  /** Default: milliseconds. */
  readonly unit?: string;
  readonly note?: string;
  /** The loop. Default: the name without `train-`. */
  readonly loop?: string;
  /** How often the program trains; the last time counts. */
  readonly runs: 1 | 2;
  /** Default: the samples that the loop has sent. */
  readonly measure?: (subject: Subject, plan: Plan, facts: TrainingFacts) => Promise<Measurement>;
}

/** The figures that a loop wrote down, in the run that counts. */
interface TrainingFacts {
  readonly samples: readonly number[];
  readonly details: Details;
}

export function trainFigure(facts: TrainFigureFacts): HarnessFigure {
  const { name, title, goal, floor, unit = "ms", note, loop = name.replace("train-", ""), runs, measure } = facts;
  return {
    where: "harness",
    name,
    title,
    unit,
    higherIsBetter: false,
    goal,
    floor,
    ...(note === undefined ? {} : { note }),
    async observe(subject, plan) {
      return await inFolder(async (folder) => {
        await using child = subject.start("train", plan, [loop, folder, String(runs)]);
        await child.succeeded();
        const told = factsOf(child) as TrainingFacts[];
        const [first, last] = [told[0] as TrainingFacts, told.at(-1) as TrainingFacts];
        if (measure !== undefined) return await measure(subject, plan, last);
        return { samples: last.samples, details: { ...last.details, ...(runs === 1 ? {} : { firstRun: first.samples[0] as number }) } };
      });
    },
  };
}

const TORCHRUN_WITHIN_MS = 120_000;

/** The same steps under `torchrun`, with the Python of the benchmark. @returns the processor time of a step, in milliseconds */
export async function stepsOfTorchrun({ python }: Subject): Promise<number> {
  if (python === undefined) throw new Error("There is no Python with torch: --against-ray builds one, or SHOAL_BENCH_PYTHON names one");
  return await inFolder(async (folder) => {
    await using child = new Child({
      command: python,
      args: [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        join(import.meta.dirname, "ray", "ddp_steps.py"),
        folder,
      ],
      environment: { ...process.env, OMP_NUM_THREADS: "1" },
      workingDirectory: folder,
      timeLimitMs: TORCHRUN_WITHIN_MS,
    });
    await child.succeeded();
    return (factsOf(child) as TrainingFacts).samples[0] as number;
  });
}

function factsOf(child: Child): unknown {
  const json = /^facts (.*)$/m.exec(child.outputTail)?.[1];
  if (json === undefined) throw new Error(`The program told no facts\n${child.outputTail}`);
  return JSON.parse(json);
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-bench-train-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
