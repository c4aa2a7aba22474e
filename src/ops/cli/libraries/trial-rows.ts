/** Text of trials for the commands of Tune. Pure. */
import { metricAt } from "../../../runs/checkpoints/kept-checkpoints.ts";
import { flatMetrics, type Metrics } from "../../../runs/metrics/metrics.ts";
import { durationText, tableLines, valueText } from "../../../runs/metrics/progress-lines.ts";
import type { StoredRun, StoredTrial } from "../../../tune/trials/stored-trials.ts";

export { tableLines };

/** Best first by the tuned metric, or by another one in the tuned direction; trials without a value come last, in their order. */
export function sortedTrials({ trials, metrics, modes }: StoredRun, metric: string | undefined): StoredTrial[] {
  const by = metric ?? metrics[0];
  if (by === undefined) return [...trials];
  const sign = modes[0] === "max" ? -1 : 1;
  const scoreOf = (trial: StoredTrial): number => {
    const value = trial.metrics && metricAt(trial.metrics, by);
    return typeof value === "number" && !Number.isNaN(value) ? sign * value : Number.POSITIVE_INFINITY;
  };
  return trials.toSorted((a, b) => (scoreOf(a) === scoreOf(b) ? a.index - b.index : scoreOf(a) - scoreOf(b)));
}

/** A header, and a row for each trial. */
export function trialRows({ metrics }: StoredRun, trials: readonly StoredTrial[]): string[][] {
  const configs = trials.map(({ config }) => flatMetrics(config));
  const parameters = [...new Set(configs.flatMap((config) => [...config.keys()]))];
  // Without a tuned metric, shows all reported ones.
  const shown = metrics.length > 0 ? metrics : [...new Set(trials.flatMap((trial) => Object.keys(trial.metrics ?? {})))].slice(0, 4);
  const rows = trials.map(({ id, status, metrics: reported, iteration, timeTotalMs }, i) => [
    id,
    status,
    ...shown.map((name) => valueText(reported && metricAt(reported, name))),
    String(iteration),
    durationText(timeTotalMs),
    ...parameters.map((name) => valueText(configs[i]?.get(name))),
  ]);
  return [["trial", "status", ...shown, "iteration", "time", ...parameters], ...rows];
}

/** All details of a trial. */
export function trialLines(trial: StoredTrial): string[] {
  const { id, name, status, path, iteration, timeTotalMs, failures, failure, checkpoints, config, metrics } = trial;
  const values = (of: Metrics): string[] => Array.from(flatMetrics(of), ([key, value]) => `  ${key} = ${valueText(value)}`);
  return [
    `${id} (${name}): ${status}, ${iteration} iterations in ${durationText(timeTotalMs)}${failures > 0 ? `, failed ${failures} times` : ""}`,
    `folder ${path}`,
    "config",
    ...values(config),
    "metrics",
    ...values(metrics ?? {}),
    ...(checkpoints.length > 0
      ? ["checkpoints", ...checkpoints.map((checkpoint) => `  ${checkpoint.path} (iteration ${checkpoint.iteration})`)]
      : []),
    ...(failure ? ["error", ...`${failure.name}: ${failure.message}`.split("\n").map((line) => `  ${line}`)] : []),
  ];
}
