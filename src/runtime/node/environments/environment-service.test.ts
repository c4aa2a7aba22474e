/** The end of environments with their jobs (workers, built folders, notices), and keys that come from other nodes. */
import { expect, test } from "vitest";
import type { JobId, NodeId } from "../../base/ids.ts";
import { EnvironmentService, type EnvironmentServiceOptions } from "./environment-service.ts";
import type { EnvironmentDescription, EnvironmentResult } from "./environment-table.ts";
import { MESSAGE } from "../../wire/messages.ts";

const [job, other] = ["job", "other"] as JobId[] as [JobId, JobId];
const node = "node" as NodeId;
const describes = (jobId: JobId): EnvironmentDescription => ({ job: { jobId, namespace: "", node, execArgv: [] } });
const built: EnvironmentResult = {
  built: { description: {}, envVars: {}, workingDirectory: undefined, packageFolder: undefined },
};

function make(overrides: Partial<EnvironmentServiceOptions> = {}): {
  service: EnvironmentService;
  log: string[];
  alive: Map<string, number>;
} {
  const log: string[] = [];
  const alive = new Map<string, number>();
  const service = new EnvironmentService({
    build: () => Promise.resolve(built),
    folders: {
      described: () => {},
      handlers: { [MESSAGE.PACKAGE_OFFER]: () => {}, [MESSAGE.PACKAGE_READ]: () => {}, [MESSAGE.PACKAGE_HELD]: () => {} },
      jobEnded: (ended) => {
        log.push(`jobEnded ${ended}`);
        return [node];
      },
      forget: (ended) => log.push(`forget ${ended}`),
      remove: (key) => log.push(`remove ${key}`),
      nodeGone: (gone) => log.push(`nodeGone ${gone}`),
    },
    ask: () => Promise.reject(new Error("the head did not answer")),
    launch: (key) => log.push(`launch ${key}`),
    refuse: (key, { reason }) => log.push(`refuse ${key}: ${reason}`),
    ended: (key) => log.push(`ended ${key}`),
    workers: (key) => alive.get(key) ?? 0,
    ...overrides,
  });
  return { service, log, alive };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("when the driver has gone, what was built goes with the last worker, and other nodes hear of it", () => {
  const { service, log, alive } = make();
  service.described({ key: "k", description: describes(job) });
  service.described({ key: "unused", description: describes(job) });
  service.described({ key: "x", description: describes(other) });
  alive.set("k", 1);
  expect(service.driverGone(job)).toEqual([node]);
  expect(log.splice(0)).toEqual(["ended k", "ended unused", "remove unused", "jobEnded job"]);
  service.workerExited("x");
  expect(log).toEqual([]);
  alive.set("k", 0);
  service.workerExited("k");
  expect(log).toEqual(["remove k"]);
});

test("jobs of a node that is dead have ended", () => {
  const { service, log } = make();
  service.described({ key: "k", description: describes(job) });
  service.nodeGone(node);
  expect(log).toEqual(["ended k", "remove k", "forget job", "nodeGone node"]);
});

test("what is built for a job that has ended meanwhile goes at once, and nobody waits for it", async () => {
  const { service, log } = make();
  service.described({ key: "k", description: describes(job) });
  service.workerWanted("k");
  service.jobEnded(job);
  log.length = 0;
  await turn();
  expect(log[0]).toBe("remove k");
  expect(log[1]).toMatch(/^refuse k: .*its job has ended/);
});

test("a key of another node is asked for, built and launched; without an answer it is refused", async () => {
  const { service, log } = make({ ask: () => Promise.resolve(describes(job)) });
  service.workerWanted("k");
  await turn();
  expect(log).toEqual(["launch k"]);
  expect(service.jobOf("k")).toBe(job);
  const silent = make();
  silent.service.workerWanted("k");
  await turn();
  expect(silent.log[0]).toMatch(/^refuse k: .*the head did not answer/);
  const alone = make({ ask: undefined });
  alone.service.workerWanted("k");
  await turn();
  expect(alone.log[0]).toMatch(/^refuse k: .*nobody has described it/);
});
