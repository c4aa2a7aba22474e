/**
 * Wrong decisions for the pure files of Serve, Tune, Train and Data, each with the unit tests that must fail when the code decides so.
 *
 * A mutant is a text of `src` that occurs once, and its replacement. `npm run mutants` applies one at a time and runs its tests. A test of the rules finds texts that
 * the code no longer has, so whoever changes such a line changes the mutant as well.
 */
interface LibraryMutant {
  /** Below `src`. */
  readonly file: string;
  readonly text: string;
  readonly becomes: string;
  /** Below `src`; the test beside the file by default. */
  readonly test?: string;
}

const SCHEDULERS = "tune/schedulers/schedulers.test.ts";

export const LIBRARY_MUTANTS: Readonly<Record<string, LibraryMutant>> = {
  // Serve
  ownRequestCountedTwice: {
    file: "serve/routing/replica-set.ts",
    text: "Math.max(0, reported - 1 - replica.ongoing)",
    becomes: "Math.max(0, reported - replica.ongoing)",
  },
  refusedCountsAsOngoing: {
    file: "serve/routing/replica-set.ts",
    text: "    replica.ongoing -= 1;\n    replica.others = Math.max(0, reported - replica.ongoing);\n    replica.isBusy = true;",
    becomes: "    replica.others = Math.max(0, reported - replica.ongoing);\n    replica.isBusy = true;",
  },
  busyStaysChosen: {
    file: "serve/routing/replica-set.ts",
    text: "!replica.isRetired && !replica.isBusy && replica.ongoing",
    becomes: "!replica.isRetired && replica.ongoing",
  },
  fullerOfTwo: {
    file: "serve/routing/replica-set.ts",
    text: "return b.load < a.load ? b : a;",
    becomes: "return b.load > a.load ? b : a;",
  },
  oneMoreThanTheLimit: {
    file: "serve/routing/replica-set.ts",
    text: "replica.ongoing < this.#ongoingMax",
    becomes: "replica.ongoing <= this.#ongoingMax",
  },
  farReplicasFirst: {
    file: "serve/routing/replica-set.ts",
    text: "const free = this.#near.length > 0 ? this.#near : this.#far;",
    becomes: "const free = this.#far.length > 0 ? this.#far : this.#near;",
  },
  fullestHolderOfModel: {
    file: "serve/routing/replica-set.ts",
    text: "if (replica.load < (least as RoutedReplica).load) least = replica;",
    becomes: "if (replica.load > (least as RoutedReplica).load) least = replica;",
  },
  zeroDelayIgnored: {
    file: "serve/controller/capacity/autoscaling-policy.ts",
    text: "desired === 0 ? (config.downscaleToZeroDelayMs ?? config.downscaleDelayMs) : config.downscaleDelayMs",
    becomes: "config.downscaleDelayMs",
  },
  pendingDirectionKept: {
    file: "serve/controller/capacity/autoscaling-policy.ts",
    text: "if (this.#pending?.direction !== direction) this.#pending",
    becomes: "if (this.#pending === undefined) this.#pending",
  },
  meanDecidesFromZero: {
    file: "serve/controller/capacity/autoscaling-policy.ts",
    text: "samples.at(-1)?.requests ?? 0",
    becomes: "totalRequests",
  },
  oldSamplesCount: {
    file: "serve/controller/capacity/autoscaling-policy.ts",
    text: "samples.filter(({ atMs }) => atMs >= nowMs - lookBackPeriodMs)",
    becomes: "samples",
  },
  shortPrefixFirst: {
    file: "serve/proxy/route-table.ts",
    text: "b.prefix.length - a.prefix.length",
    becomes: "a.prefix.length - b.prefix.length",
  },
  prefixWithinAName: {
    file: "serve/proxy/route-table.ts",
    text: "!path.startsWith(`${prefix}/`)",
    becomes: "!path.startsWith(prefix)",
  },
  foreignPrefixPassed: {
    file: "serve/proxy/fronts/request-headers.ts",
    text: "        raw.splice(index, 2);\n        index -= 2;\n",
    becomes: "",
  },
  twoHostsTaken: {
    file: "serve/proxy/fronts/request-headers.ts",
    text: 'if (read.host !== "") read.mistake = "it has two host headers";',
    becomes: "",
  },
  dotSegmentsKept: {
    file: "serve/proxy/fronts/request-headers.ts",
    text: "(?!.*(?:\\/\\.|\\/%2e))",
    becomes: "",
  },
  retiredIsReleasedAtOnce: {
    file: "serve/routing/deployment-router.ts",
    text: "if (replica.ongoing > 0 || !this.#retiring.delete(replica)) return;",
    becomes: "if (!this.#retiring.delete(replica)) return;",
  },
  queueOneTooLong: {
    file: "serve/routing/deployment-router.ts",
    text: "this.#waitingCount >= max",
    becomes: "this.#waitingCount > max",
  },
  capacityRoundsDown: {
    file: "serve/controller/capacity/target-capacity.ts",
    text: "Math.round((replicas * percent) / 100 / gangSize)",
    becomes: "Math.floor((replicas * percent) / 100 / gangSize)",
  },
  oneFailedCheckIsEnough: {
    file: "serve/controller/deployment-state.ts",
    text: "replica.healthFailures < HEALTH_FAILURES_MAX",
    becomes: "replica.healthFailures < 1",
    test: "serve/controller/serve-state.test.ts",
  },
  startsAreNotDelayed: {
    file: "serve/controller/deployment-state.ts",
    text: "if (hasGivenUp || nowMs < this.#nextStartMs) return [];",
    becomes: "if (hasGivenUp) return [];",
    test: "serve/controller/serve-state.test.ts",
  },
  gangServesInPart: {
    file: "serve/controller/deployment-state.ts",
    text: "return gang === undefined || !(starting ?? this.#startingGangs).has(gang);",
    becomes: "void [gang, starting];\n    return true;",
    test: "serve/controller/serve-state.test.ts",
  },
  rankOfRetiringIsTaken: {
    file: "serve/controller/deployment-state.ts",
    text: 'const taken = new Set([...this.replicas.values()].filter(({ phase }) => phase !== "retiring")',
    becomes: "const taken = new Set([...this.replicas.values()]",
    test: "serve/controller/serve-state.test.ts",
  },

  // Tune
  rungsAreSkipped: {
    file: "tune/schedulers/asha-scheduler.ts",
    text: "if (!this.#options.stopLastTrials) return true;",
    becomes: "",
    test: SCHEDULERS,
  },
  ownScoreMovesTheCutoff: {
    file: "tune/schedulers/asha-scheduler.ts",
    text: "      scores.set(trialId, score);\n      return !(cutoff",
    becomes: "      return !(cutoff",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  runsBeyondMaxT: {
    file: "tune/schedulers/asha-scheduler.ts",
    text: "time >= this.#options.maxT && this.#options.stopLastTrials",
    becomes: "time > this.#options.maxT && this.#options.stopLastTrials",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  percentileWithoutInterpolation: {
    file: "tune/schedulers/asha-scheduler.ts",
    text: "return part >= 0.5 ? high - (high - low) * (1 - part) : low + (high - low) * part;",
    becomes: "void [high, part];\n  return low;",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  oldestGains: {
    file: "tune/schedulers/population/pb2.ts",
    text: "gains.slice(-GAINS_MAX)",
    becomes: "gains.slice(0, GAINS_MAX)",
    test: SCHEDULERS,
  },
  gainsOfOtherValues: {
    file: "tune/schedulers/population/pb2.ts",
    text: "JSON.stringify([record.trialId, record.values])",
    becomes: "JSON.stringify([record.trialId])",
    test: SCHEDULERS,
  },
  wholeNumbersBreak: {
    file: "tune/schedulers/population/pb2.ts",
    text: "Number.isInteger(present) && Number.isInteger(low) && Number.isInteger(high) ? Math.trunc(value) : value",
    becomes: "value",
    test: SCHEDULERS,
  },
  goodTrialsEnd: {
    file: "tune/schedulers/hyperband/hyperband-bracket.ts",
    text: "return { bad: ranked.slice(0, badCount), good: ranked.slice(badCount) };",
    becomes: "return { good: ranked.slice(0, badCount), bad: ranked.slice(badCount) };",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  milestoneBeyondMaxT: {
    file: "tune/schedulers/hyperband/hyperband-bracket.ts",
    text: "Math.trunc(Math.min(this.#milestone * this.shape.reductionFactor, this.shape.maxT))",
    becomes: "Math.trunc(this.#milestone * this.shape.reductionFactor)",
    test: SCHEDULERS,
  },
  nanIsTheBestScore: {
    file: "tune/schedulers/hyperband/hyperband-bracket.ts",
    text: "if (Number.isNaN(first)) return Number.isNaN(second) ? 0 : -1;\n  return Number.isNaN(second) ? 1 : first - second;",
    becomes: "if (Number.isNaN(first)) return Number.isNaN(second) ? 0 : 1;\n  return Number.isNaN(second) ? -1 : first - second;",
    test: SCHEDULERS,
  },
  medianOfTheUpper: {
    file: "tune/schedulers/median-stopping-rule.ts",
    text: "sorted.length % 2 === 1 ?",
    becomes: "sorted.length >= 1 ?",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  graceIgnored: {
    file: "tune/schedulers/median-stopping-rule.ts",
    text: 'if (time < this.#gracePeriod) return "continue";',
    becomes: "",
    test: "tune/schedulers/ray-decisions.test.ts",
  },
  listsAreLeft: {
    file: "tune/schedulers/population/explore.ts",
    text: "list[Math.min(list.length - 1, Math.max(0, at + shift))]",
    becomes: "list[at + shift]",
    test: SCHEDULERS,
  },
  domainsAreLeft: {
    file: "tune/schedulers/population/explore.ts",
    text: "? toAllowed(mutation, moved) : moved;",
    becomes: "? moved : moved;",
    test: SCHEDULERS,
  },
  boundsOnlyFromAbove: {
    file: "tune/options/stoppers.ts",
    text: "return isDownwards ? value <= bound : value >= bound;",
    becomes: "return value >= bound;",
  },
  pendingIsCountedOnce: {
    file: "tune/experiment/trial-machine.ts",
    text: '    if (trial.status === "pending") this.#pending -= 1;\n    trial.status = "running";',
    becomes: '    trial.status = "running";',
  },
  releasedKeepsItsResources: {
    file: "tune/experiment/trial-machine.ts",
    text: "    this.#held.delete(trial.id);\n    for",
    becomes: "    for",
  },
  donorWithoutCheckpoint: {
    file: "tune/experiment/trial-machine.ts",
    text: "if (donor === undefined || !donor.hasCheckpoint) return;",
    becomes: "if (donor === undefined) return;",
  },
  doneIsNotMarked: {
    file: "tune/experiment/trial-machine.ts",
    text: "if (trial.lastResult !== undefined) trial.lastResult = { ...trial.lastResult, done: true };",
    becomes: "",
  },

  // Train
  attemptsOneTooMany: {
    file: "train/run/controller.ts",
    text: "return max === -1 || count <= max;",
    becomes: "return max === -1 || count <= max + 1;",
  },
  firstFailureIsTheCause: {
    file: "train/run/controller.ts",
    text: "ms: knowsCause ? SETTLE_AFTER_CAUSE_MS : SETTLE_MS",
    becomes: "ms: SETTLE_AFTER_CAUSE_MS",
  },
  preemptionIsAFailure: {
    file: "train/run/controller.ts",
    text: 'this.#preemption?.preemptedRanks.includes(rank) === true && cause === "died"',
    becomes: "this.#preemption?.preemptedRanks.includes(rank) === null",
  },
  lostReportIsASuccess: {
    file: "train/run/controller.ts",
    text: 'if (this.#ending?.kind === "finished") this.#ending = { kind: "failed", failures: [failure], isFinal: false };',
    becomes: "",
  },
  movesWithoutACheckpoint: {
    file: "train/run/controller.ts",
    text: "(this.#stop !== undefined && checkpoint !== undefined)",
    becomes: "this.#stop !== undefined",
  },
  healthRoundEarly: {
    file: "train/run/controller.ts",
    text: "(this.#unanswered.get(rank) ?? 0) >= rounds",
    becomes: "(this.#unanswered.get(rank) ?? 0) + 1 >= rounds",
  },
  latestDeadline: {
    file: "train/run/controller.ts",
    text: "Math.min(...deadlines)",
    becomes: "Math.max(...deadlines)",
  },
  movesForNothing: {
    file: "train/run/controller.ts",
    text: "Math.min(workers, maxWorkers) > this.#workers",
    becomes: "Math.min(workers, maxWorkers) >= this.#workers",
  },
  ranksByStartOrder: {
    file: "train/group/rank-order.ts",
    text: "lowestGpu(a.facts) - lowestGpu(b.facts) || a.index - b.index",
    becomes: "a.index - b.index",
  },
  devicesOfTheMachine: {
    file: "train/group/rank-order.ts",
    text: "facts.gpuIds.map((id) => nodeGpuIds.indexOf(String(id)))",
    becomes: "facts.gpuIds.map(Number)",
  },

  // Data
  lastBinIsLost: {
    file: "data/engine/exchange/bins.ts",
    text: "Math.max(1, ...bins.map((own) => (own?.at(-1) ?? 0) + 1))",
    becomes: "Math.max(1, ...bins.map((own) => own?.at(-1) ?? 0))",
  },
  boundariesRoundDown: {
    file: "data/engine/exchange/sort-boundaries.ts",
    text: "descending ? Math.floor(value) : Math.ceil(value)",
    becomes: "Math.floor(value)",
  },
  equalPartsAreMissed: {
    file: "data/engine/streams/split-choice.ts",
    text: "return missing <= behind;",
    becomes: "return missing <= behind + 1;",
  },
  nobodyWaitsForItsNode: {
    file: "data/engine/streams/split-choice.ts",
    text: "return isPatient ? undefined : leastMissed(free, consumers);",
    becomes: "void isPatient;\n  return leastMissed(free, consumers);",
  },
  sidesShareRows: {
    file: "data/engine/exchange/hash-split.ts",
    text: "< bound === isTest",
    becomes: "<= bound === isTest || isTest",
  },
  releasedByTheFirstPart: {
    file: "data/engine/tasks/cut-blocks.ts",
    text: "if (users === 0) block.release();",
    becomes: "if (users === 1) block.release();",
  },
  lackingIsNotKept: {
    file: "data/engine/pools/resource-limits.ts",
    text: "return !isKept && missing.length === 0;",
    becomes: "void isKept;\n    return missing.length === 0;",
  },
  restingTaskKeepsItsCpus: {
    file: "data/engine/pools/resource-limits.ts",
    text: 'return hold === "everything" ? this.#amounts : this.#rest;',
    becomes: "return this.#amounts;",
  },
  actorsLeaveNoRoom: {
    file: "data/engine/pools/resource-limits.ts",
    text: "<= stepsOf(this.#limits, name) - stepsOf(this.#forTasks, name)",
    becomes: "<= stepsOf(this.#limits, name)",
  },
  nullsAreCertain: {
    file: "data/expressions/may-match.ts",
    text: "{ yes: facts.nullCount > 0, no: facts.nullCount < facts.rowCount }",
    becomes: "{ yes: facts.nullCount > 1, no: facts.nullCount < facts.rowCount }",
  },
  orIsNeverFalse: {
    file: "data/expressions/may-match.ts",
    text: "{ yes: a.yes || b.yes, no: a.no && b.no }",
    becomes: "{ yes: a.yes || b.yes, no: false }",
  },
  filterBelowItsColumn: {
    file: "data/plan/push-down.ts",
    text: "return namesMade(step).some((name) => columns.includes(name)) ? undefined : expression;",
    becomes: "return expression;",
  },
  filterBelowUsersCode: {
    file: "data/plan/push-down.ts",
    text: "if (isUserCode(step)) return undefined;",
    becomes: "",
  },
  filterIntoAMix: {
    file: "data/plan/push-down.ts",
    text: "input.mix === undefined && ",
    becomes: "",
  },
  borderBelongsToTheRangeBefore: {
    file: "data/kernels/sort.ts",
    text: "if (compareBy(columns, rows.rowCount + middle, row) <= 0) low = middle + 1;",
    becomes: "if (compareBy(columns, rows.rowCount + middle, row) < 0) low = middle + 1;",
    test: "data/kernels/kernels.test.ts",
  },
  lastPlaceIsNoGroup: {
    file: "data/kernels/direct-table.ts",
    text: "place >= 0 && place < places.length",
    becomes: "place > 0 && place < places.length",
  },
  sketchDropsTheOddOne: {
    file: "data/aggregates/quantile-sketch.ts",
    text: "const kept = values.length % 2 === 1 ? [values.pop() as number] : [];",
    becomes: "if (values.length % 2 === 1) values.pop();\n    const kept: number[] = [];",
    test: "data/aggregates/approximate.test.ts",
  },
  floatsAreRounded: {
    file: "data/formats/json/json-inference.ts",
    text: "if (form === FLOAT && this.#inexact !== undefined) return",
    becomes: "if (form === null) return",
    test: "data/formats/json/json-reader.test.ts",
  },
};

/** The file of tests that must fail, from the root of the repository. */
export function testOf(name: string): string {
  const { file, test = file.replace(/\.ts$/, ".test.ts") } = LIBRARY_MUTANTS[name] as LibraryMutant;
  return `src/${test}`;
}
