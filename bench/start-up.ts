/**
 * Times a small program from outside: from its start to the first actor's answer, and to its end. Called by the two start-up figures, which
 * use one of the two times each.
 */
import type { Plan } from "./figure.ts";
import type { Subject } from "./subject.ts";

interface ProgramTimes {
  readonly readyMs: number;
  readonly endMs: number;
}

/** Several starts a round: one start is a single sample, and the first after a pause also pays for cold file caches. */
export async function timePrograms(subject: Subject, plan: Plan): Promise<ProgramTimes[]> {
  const times: ProgramTimes[] = [];
  const startsCount = plan.quick ? 1 : 2;
  for (let index = 0; index < startsCount; index++) {
    await using child = subject.start("first-calls", plan);
    const readyMs = await child.waitForLine("ready");
    const { elapsedMs } = await child.succeeded();
    times.push({ readyMs, endMs: elapsedMs });
  }
  return times;
}
