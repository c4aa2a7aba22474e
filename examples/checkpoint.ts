/**
 * An actor whose state survives its process: it writes a checkpoint after so many steps, and begins from the last one when it is started
 * again. A step is counted once, however often the process dies: work since the checkpoint is done again.
 *
 *   node examples/checkpoint.ts [STEPS]
 */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { remote, shutdown } from "shoal";

const CHECKPOINT_EVERY = 10;
/** The process dies at this step, the first time that it comes there. */
const DEADLY = 25;

interface State {
  step: number;
  sum: number;
}

class Trainer {
  readonly #file: string;
  #state: State = { step: 0, sum: 0 };
  readonly #resumedAt: number;

  constructor(file: string) {
    this.#file = file;
    try {
      this.#state = JSON.parse(readFileSync(file, "utf8")) as State;
    } catch {
      // No checkpoint yet: this is the first start.
    }
    this.#resumedAt = this.#state.step;
  }

  train(steps: number): State & { resumedAt: number } {
    while (this.#state.step < steps) {
      const step = this.#state.step + 1;
      if (step === DEADLY && this.#resumedAt === 0) process.kill(process.pid, "SIGKILL");
      this.#state = { step, sum: this.#state.sum + step };
      if (step % CHECKPOINT_EVERY === 0) this.#save();
    }
    return { ...this.#state, resumedAt: this.#resumedAt };
  }

  /** Under another name first: a process that dies while it writes leaves the last checkpoint whole. */
  #save(): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#state));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

async function main(): Promise<void> {
  const steps = Number(process.argv[2] ?? 40);
  if (!Number.isInteger(steps) || steps < 1) {
    console.error("checkpoint: STEPS must be a whole number from 1\nusage: node examples/checkpoint.ts [STEPS]");
    process.exitCode = 2;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "checkpoint-"));
  try {
    // Started again when its process dies, and the call under way is made again.
    using trainer = remote(Trainer, { maxRestarts: 3, maxTaskRetries: 3 }).remote(join(folder, "state.json"));
    const { step, sum, resumedAt } = await trainer.train.remote(steps);
    console.log(`${step} steps, sum ${sum}, resumed at step ${resumedAt}`);
  } finally {
    await shutdown();
    rmSync(folder, { recursive: true });
  }
}

await main();
