/**
 * `shoal tune list-trials` and `shoal tune show`: the trials of a run, read from its folder.
 *
 * Does not ask a cluster. Only these commands load the reader of runs, as it needs the programming model.
 */
import type { StoredRun, StoredTrial } from "../../../tune/trials/stored-trials.ts";
import { type Command, defineCommand, UsageError } from "../command.ts";

export const tuneListTrialsCommand: Command = defineCommand({
  name: "tune list-trials",
  summary: "show the trials of a run of Tune",
  description: `Shows the trials of the run in FOLDER, the best first: while it runs, after it has ended, or after its driver has died.
FOLDER is the run's folder: storagePath and its name. It may be of S3.`,
  words: ["FOLDER"],
  options: {
    sort: { valueName: "METRIC", help: "put the trials in order of a metric instead of the tuned one" },
    limit: { short: "n", valueName: "COUNT", help: "maximum number of trials (default: all)" },
    json: { help: "print JSON" },
  },
  run: async ({ options, words, terminal }) => {
    const limit = options.limit === undefined ? Number.POSITIVE_INFINITY : Number(options.limit);
    if (!(limit >= 1)) throw new UsageError(`Cannot run shoal tune list-trials: --limit takes a number from 1: received ${options.limit}.`);
    const run = await readRun(words[0] ?? "");
    const { trialRows, sortedTrials, tableLines } = await import("./trial-rows.ts");
    const trials = sortedTrials(run, options.sort).slice(0, limit);
    if (options.json) terminal.print(JSON.stringify({ path: run.path, state: run.state, trials }));
    else {
      terminal.print(`${run.path}: ${run.state}, ${run.trials.length} trials (${states(run.trials)})`);
      for (const line of tableLines(trialRows(run, trials))) terminal.print(line);
    }
  },
});

export const tuneShowCommand: Command = defineCommand({
  name: "tune show",
  summary: "show one trial of a run of Tune",
  description:
    "Shows the trial of the run in FOLDER whose id is TRIAL, or ends with it: its configuration, last metrics, checkpoints and error.",
  words: ["FOLDER", "TRIAL"],
  options: { json: { help: "print JSON" } },
  run: async ({ options, words, terminal }) => {
    const [folder = "", wanted = ""] = words;
    const run = await readRun(folder);
    const found = run.trials.filter(({ id }) => id === wanted || id.endsWith(wanted));
    const [trial] = found;
    if (trial === undefined || found.length > 1)
      throw new UsageError(
        `Cannot run shoal tune show: ${trial === undefined ? "no trial of the run" : `${found.length} trials of the run`} ends with ${wanted}. See \`shoal tune list-trials ${folder}\`.`,
      );
    const { trialLines } = await import("./trial-rows.ts");
    if (options.json) terminal.print(JSON.stringify(trial));
    else for (const line of trialLines(trial)) terminal.print(line);
  },
});

async function readRun(folder: string): Promise<StoredRun> {
  const { readStoredRun } = await import("../../../tune/trials/stored-trials.ts");
  return await readStoredRun(folder);
}

function states(trials: readonly StoredTrial[]): string {
  return Array.from(
    Map.groupBy(trials, ({ status }) => status),
    ([status, some]) => `${some.length} ${status}`,
  ).join(", ");
}
