/**
 * Many tasks queued at once on one machine: all are submitted before the first result is asked for, then all are gotten. The curve from 10
 * tasks up shows whether a task costs the same however many wait, and the driver's peak memory shows whether live tasks bound the queue.
 */
import { get } from "shoal";
import { type Details, type DriverFigure, RUNS, ratioAtLeast } from "../figure.ts";
import { smallValue } from "../small-calls.ts";

const FULL_COUNT = 1_000_000;
const QUICK_COUNT = 100_000;

export const figure: DriverFigure = {
  where: "driver",
  name: "queued-tasks",
  title: "1,000,000 tasks queued on one machine",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(20),
  floor: RUNS,
  roundsMax: 1,
  note: "Ray gets 50,000 tasks (5,000 with --quick), where its rate is the same and the run a minute; ours 1,000,000 (100,000)",
  async run(plan) {
    const largestCount = plan.quick ? QUICK_COUNT : FULL_COUNT;
    await get(smallValue.remote());
    const details: Details = {};
    let tasksPerSecond = 0;
    for (let count = 10; count <= largestCount; count *= 10) {
      const startMs = performance.now();
      await get(Array.from({ length: count }, () => smallValue.remote()));
      tasksPerSecond = (count * 1000) / (performance.now() - startMs);
      details[`perSecondAt${count}`] = Math.round(tasksPerSecond);
    }
    details.driverPeakMegabytes = Math.round((process.resourceUsage().maxRSS * 1024) / 1e6);
    return { samples: [tasksPerSecond], details };
  },
};
