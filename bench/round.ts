/**
 * Runs one round of one "driver" figure on Shoal, as a separate process: starts a runtime, measures, writes the measurement to a file,
 * shuts down. Started by `subject.ts` as `round.ts FIGURE PLAN RESULT-FILE`; `ray/round.py` is the twin.
 */
import { writeFileSync } from "node:fs";
import { init, shutdown } from "shoal";
import type { Figure, Plan } from "./figure.ts";
import { withTwoNodes } from "./two-nodes.ts";

const [figureName, planText, resultFile] = process.argv.slice(2);
if (figureName === undefined || planText === undefined || resultFile === undefined) {
  throw new TypeError("Cannot run a round: received too few arguments, want FIGURE PLAN RESULT-FILE");
}
const { figure } = (await import(`./figures/${figureName}.ts`)) as { figure: Figure };
if (figure.where !== "driver") throw new TypeError(`Cannot run a round: ${figureName} is measured from outside`);

const plan = JSON.parse(planText) as Plan;
if (figure.nodes === 2) {
  writeFileSync(resultFile, JSON.stringify(await withTwoNodes(() => figure.run(plan))));
} else {
  await init();
  writeFileSync(resultFile, JSON.stringify(await figure.run(plan)));
  await shutdown();
}
