/** Applications of the REST API whose configuration, name or fate changes while they are built. */
import { expect, test } from "vitest";
import type { BuiltInTask } from "../config/build-in-task.ts";
import type { ConfigApplication } from "../config/read-config.ts";
import { DeclaredApplications } from "./declared-applications.ts";

function application(name: string): ConfigApplication {
  const empty = new Map<string, never>();
  return {
    name,
    routePrefix: `/${name}`,
    importPath: "app.ts:app",
    runtimeEnv: {},
    args: {},
    fields: {},
    deployments: empty,
    places: empty,
    logging: {},
    tracing: {},
    line: 1,
  };
}

/** Builds and takings that end when the test says so. */
class World {
  readonly building: PromiseWithResolvers<BuiltInTask>[] = [];
  readonly taking: PromiseWithResolvers<void>[] = [];
  readonly deployed: string[] = [];
  /** Paths of applications that run. */
  readonly paths = new Map<string, string | null>();
  /** Paths of the built applications at each deploy. */
  readonly together: [string, string | null][][] = [];
  settled = 0;
  readonly declared = new DeclaredApplications({
    build: () => {
      const build = Promise.withResolvers<BuiltInTask>();
      this.building.push(build);
      return build.promise;
    },
    holderOf: ({ routePrefix }) => [...this.paths].find(([, path]) => path === routePrefix)?.[0],
    deploy: async ({ target }, { isWanted, together }) => {
      const taken = Promise.withResolvers<void>();
      this.taking.push(taken);
      this.together.push([...together]);
      await taken.promise;
      if (isWanted()) this.deployed.push(target.name);
    },
    apps: () => [],
    delete: async () => {},
    settled: async () => {
      this.settled += 1;
    },
  });

  async built(index: number, name: string, routePrefix: string | null = `/${name}`): Promise<void> {
    this.building[index]?.resolve({ target: { name, routePrefix }, code: { code: [], functions: [] } } as unknown as BuiltInTask);
    await this.rest();
  }

  async taken(index: number): Promise<void> {
    this.taking[index]?.resolve();
    await this.rest();
  }

  /** All that follows without another event has happened: everything here is a promise. */
  async rest(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("an application that is built is deployed, and known until then", async () => {
  const world = new World();
  world.declared.put([application("a")], undefined);
  expect(world.declared.statusOf("a", undefined)).toMatchObject({ status: "DEPLOYING", routePrefix: "/a" });
  await world.built(0, "a");
  await world.taken(0);
  expect([world.deployed, world.declared.names, world.settled]).toEqual([["a"], [], 1]);
});

test("one that is deleted, or run by a program, while it is built or taken over does not come up afterwards", async () => {
  const world = new World();
  world.declared.put([application("a"), application("b"), application("c")], undefined);
  world.declared.forget("a");
  await world.built(0, "a");
  await world.built(1, "b");
  world.declared.forget("b");
  await world.taken(0);
  await world.built(2, "c");
  await world.taken(1);
  expect([world.deployed, world.declared.names, world.settled]).toEqual([["c"], [], 1]);
});

test("a configuration that comes anew takes the place of the one that is built, and its failures are its own", async () => {
  const world = new World();
  world.declared.put([application("a")], undefined);
  await world.built(0, "a");
  world.declared.put([application("a")], undefined);
  await world.taken(0);
  expect([world.deployed, world.declared.names]).toEqual([[], ["a"]]);
  world.building[1]?.reject(new RangeError("no such model"));
  await world.rest();
  expect(world.declared.statusOf("a", undefined)).toMatchObject({ status: "DEPLOY_FAILED", message: "no such model" });
  expect(world.settled).toBe(1);
});

test("where nothing is declared any more, what was ended is waited for", async () => {
  const world = new World();
  world.declared.put([], undefined);
  await world.rest();
  expect(world.settled).toBe(1);
});

test("an application waits for the one that has its path until that is built, or cannot be", async () => {
  const world = new World();
  world.paths.set("a", "/b").set("b", "/a");
  world.declared.put([application("a"), application("b")], undefined);
  await world.built(0, "a");
  expect(world.together).toEqual([]);
  await world.built(1, "b");
  const both = [
    ["a", "/a"],
    ["b", "/b"],
  ];
  expect(world.together).toEqual([both, both]);

  const failing = new World();
  failing.paths.set("b", "/a");
  failing.declared.put([application("a"), application("b")], undefined);
  await failing.built(0, "a");
  failing.building[1]?.reject(new Error("no module"));
  await failing.rest();
  // The path stays taken, so the deploy is refused.
  expect(failing.together).toEqual([[["a", "/a"]]]);
});
