// The test runs of the repository, as Vitest projects.
//
// `unit` is everything beside the sources: no sockets, no sleeping, seconds in all. `rules` holds the repository's own laws (types, layers,
// lint, format); the two together are `npm run check`. `apart` is for files that can share the machine: the simulations and whole programs,
// which compute, beside the store and the bus, which mostly wait for times to be over. `waiting` starts Shoal's own processes and waits for
// limits of time to pass, so some of these files run side by side. `integration` starts Shoal's own processes, two files at a time,
// as two cores are little. `alone` holds the files that look at the machine as a whole: at its memory, its processes, or at milliseconds.
import { relative } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const RULES = [
  "test/circles.test.ts",
  "test/commits.test.ts",
  "test/errors.test.ts",
  "test/layers.test.ts",
  "test/limits.test.ts",
  "test/house.test.ts",
  "test/language.test.ts",
  "test/links.test.ts",
  "test/header-casts.test.ts",
  "test/message-texts.test.ts",
  "test/mutants.test.ts",
  "test/options-page.test.ts",
  "test/protocol-tables.test.ts",
  "test/rest-page.test.ts",
  "test/tools.test.ts",
  "test/types.test.ts",
  "test/reporter/*.test.ts",
];

const APART = ["test/closures/**/*.test.ts", "test/control-plane/**/*.test.ts", "test/*simulation.test.ts"];

/**
 * Files that need less than half of one processor, since they mostly wait. Each has separate folders, ports and processes. Longest first.
 */
const WAITING = [
  "store-away",
  "self-fencing",
  "recovery-resources",
  "cluster-commands",
  "cluster-security",
  "head-recovery",
  "network-namespaces",
  "cluster-commands-nats",
  "actor-cycles",
  "group-recovery",
  "head-takeover",
  "unfinished-connections",
  "cluster-partition",
  "python-node-loss",
  "network-faults",
  "network-security",
].map((name) => `test/integration/${name}.test.ts`);

/** Files that measure the machine, fill its memory, or count its processes: a neighbour changes their results. */
const ALONE = [
  "calls-leave-at-once",
  "chaos",
  "data-resource-limits",
  "data-scarce-resources",
  "data-spilling",
  "deaths-in-bulk",
  "host-process",
  "large-workloads",
  "memory-limits",
  "program-ends",
  "scale",
  "sent-ahead",
  "spilling",
  "temporary-folders",
].map((name) => `test/integration/${name}.test.ts`);

/** The files of ten seconds and more among those that run side by side, longest first: the run waits for the file that begins last. */
const LONGEST = [
  "test/tools.test.ts",
  "test/simulation.test.ts",
  "test/closures/matrix.test.ts",
  "test/control-plane/chaos.test.ts",
  "test/control-plane/nats-operations.test.ts",
  "test/control-plane/nats-logins.test.ts",
  "test/closures/matrix-vitest.test.ts",
  ...WAITING,
  "test/docs.test.ts",
  "test/package.test.ts",
  "test/examples.test.ts",
];

/** Without the times of an earlier run, which a fresh clone does not have, Vitest begins with the files that have the most bytes. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return at < 0 ? LONGEST.length : at;
    };
    const projects = Array.from(new Set(sorted.map(({ project }) => project.name)));
    return projects.flatMap((name) => sorted.filter(({ project }) => project.name === name).sort((a, b) => place(a) - place(b)));
  }
}

/**
 * The longest programs of the libraries: RL, Python beside TypeScript, several nodes, deaths. `npm run test:systems` runs them before its
 * own files, so that `npm test` ends within half an hour on two cores.
 */
const LIBRARIES = [
  "rl*",
  "runs",
  "data-{node-loss*,pyarrow,python*}",
  "serve-python",
  "train-{cluster,faults,python}",
  "tune-{cluster,combinations,faults,python,restore}",
].map((name) => `test/integration/${name}.test.ts`);

/** Against programs of others, which are downloaded: `npm run test:systems` runs these, and `npm test` does not. */
const SYSTEMS = ["test/systems/**/*.test.ts"];

/**
 * Tests with each framework that people train, tune and serve with, in separate environments: `npm run test:frameworks`, which takes long
 * and is no part of CI.
 */
const FRAMEWORKS = ["test/frameworks/**/*.test.ts"];

/** Models in plain form that unit tests compare the product with. */
const ORACLES = ["test/oracles/*.test.ts"];

const config: ViteUserConfig = defineConfig({
  test: {
    reporters: ["default", "./test/reporter/count-reporter.ts"],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "examples/**/*.test.ts",
            "bench/**/*.test.ts",
            "chaos/**/*.test.ts",
            "scripts/**/*.test.ts",
            "dashboard/**/*.test.ts",
            ...ORACLES,
          ],
          testTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "rules",
          include: RULES,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "apart",
          include: APART,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "waiting",
          include: WAITING,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 4,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: [...RULES, ...APART, ...WAITING, ...ALONE, ...LIBRARIES, ...ORACLES, ...SYSTEMS, ...FRAMEWORKS],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: "alone",
          include: ALONE,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: "libraries",
          include: LIBRARIES,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 6 },
        },
      },
      {
        test: {
          name: "systems",
          include: SYSTEMS,
          testTimeout: 120_000,
          hookTimeout: 600_000,
          fileParallelism: false,
          sequence: { groupOrder: 7 },
        },
      },
      {
        test: {
          name: "frameworks",
          include: FRAMEWORKS,
          testTimeout: 600_000,
          hookTimeout: 1_800_000,
          fileParallelism: false,
          sequence: { groupOrder: 8 },
        },
      },
    ],
  },
});

export default config;
