/**
 * Ends processes in the midst of bulk calls, in every way and under every kind of work. No call that had ended fails or runs twice.
 *
 * `npm run chaos -- --deaths 1000` does the same a thousand times each.
 */
import { init, shutdown } from "shoal";
import { TestCluster } from "shoal/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEATHS, dieInBulk, OF_PYTHON, type Work } from "../../chaos/deaths.ts";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { useFolder, useSession } from "./session.ts";

const folder = useFolder();
const WORKS_OF_JAVASCRIPT: readonly Work[] = ["tasks", "actors", "streams"];

describe("on one machine", () => {
  useSession({ numCpus: 2 });

  for (const work of WORKS_OF_JAVASCRIPT) {
    test.each(DEATHS)(`${work} lose nothing to a process that ends by %s`, async (death) => {
      const deaths = death === "heap" ? 1 : 3;
      expect(await dieInBulk({ work, death, deaths, calls: 400, folder })).toEqual([]);
    });
  }

  test.skipIf(WITHOUT_PYTHON !== undefined).each(OF_PYTHON)(
    `tasks of Python lose nothing to a process that ends by %s${unless(WITHOUT_PYTHON)}`,
    async (death) => {
      expect(await dieInBulk({ work: "Python", death, deaths: 2, calls: 200, folder })).toEqual([]);
    },
  );
});

describe("on another node than the caller's", () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start({ head: { numCpus: 0 }, onLine: () => {} });
    await cluster.addNode({ numCpus: 2, resources: { there: 1000 } });
    await init({ address: cluster.address, logToDriver: false });
  }, 60_000);
  afterAll(async () => {
    await shutdown();
    await cluster[Symbol.asyncDispose]();
  });

  for (const work of WORKS_OF_JAVASCRIPT) {
    test.each(["exit", "SIGKILL"] as const)(`${work} lose nothing to a process that ends by %s`, async (death) => {
      expect(await dieInBulk({ work, death, deaths: 2, calls: 400, folder, resources: { there: 1 } })).toEqual([]);
    });
  }
});
