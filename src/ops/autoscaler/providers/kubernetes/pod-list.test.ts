/** The kept list of pods: changes arrive in order, a break resumes from the last version, and 410 reads the list anew. */
import { expect, test } from "vitest";
import { KubernetesRefusal, type PodChange } from "./kubernetes-api.ts";
import type { Pod } from "./pod.ts";
import { PodList } from "./pod-list.ts";

function pod(name: string, version: string, uid = `uid-of-${name}`): Pod {
  return { metadata: { name, uid, resourceVersion: version, creationTimestamp: "2026-01-01T00:00:00Z" } };
}

/** An API server whose watches the test feeds and ends. */
class Server {
  pods: Pod[] = [];
  version = "1";
  lists = 0;
  isDown = false;
  readonly watchedFrom: string[] = [];
  change: (change: PodChange) => void = () => {};
  end: (error?: Error) => void = () => {};
  #pause: () => void = () => {};

  listPods(): Promise<{ pods: Pod[]; version: string }> {
    this.lists += 1;
    return this.isDown ? Promise.reject(new Error("down")) : Promise.resolve({ pods: this.pods, version: this.version });
  }

  watchPods(version: string, onChange: (change: PodChange) => void): Promise<void> {
    this.watchedFrom.push(version);
    this.change = onChange;
    return new Promise((resolve, reject) => {
      this.end = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  sleep(): Promise<void> {
    return new Promise((resolve) => {
      this.#pause = resolve;
    });
  }

  /** Ends the pause before the next watch. */
  async goOn(): Promise<void> {
    await settled();
    this.#pause();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function listOf(server: Server): Promise<PodList> {
  const list = new PodList({ api: server, onChange: () => {}, sleep: () => server.sleep() });
  list.start();
  await settled();
  return list;
}

const names = async (list: PodList): Promise<string[]> => Array.from((await list.current()).keys());

test("a watch begins at the version of the list, and its changes are in the list", async () => {
  const server = new Server();
  server.pods = [pod("a", "1")];
  const list = await listOf(server);
  expect(await names(list)).toEqual(["a"]);
  server.change({ type: "put", pod: pod("b", "2") });
  server.change({ type: "deleted", pod: pod("a", "3") });
  expect(await names(list)).toEqual(["b"]);
  expect([server.lists, server.watchedFrom]).toEqual([1, ["1"]]);
});

test("a watch that breaks resumes from the last change or bookmark", async () => {
  const server = new Server();
  const list = await listOf(server);
  server.change({ type: "put", pod: pod("a", "5") });
  server.end(new Error("cut"));
  await server.goOn();
  server.change({ type: "mark", version: "9" });
  server.end();
  await server.goOn();
  expect([server.watchedFrom, server.lists]).toEqual([["1", "5", "9"], 1]);
  list.close();
});

test("a version that is too old has the list read anew", async () => {
  const server = new Server();
  server.pods = [pod("a", "1")];
  const list = await listOf(server);
  server.pods = [pod("b", "20")];
  server.version = "20";
  server.end(new KubernetesRefusal("too old resource version", { status: 410, reason: "Expired" }));
  await server.goOn();
  expect(await names(list)).toEqual(["b"]);
  expect(server.watchedFrom).toEqual(["1", "20"]);
});

test("while no watch runs the list is read for each caller, and its failure is the caller's", async () => {
  const server = new Server();
  const list = await listOf(server);
  server.end(new Error("cut"));
  await settled();
  server.pods = [pod("late", "3")];
  expect(await names(list)).toEqual(["late"]);
  server.isDown = true;
  await expect(list.current()).rejects.toThrow("down");
});

test("a made pod is in the list at once, and stays away once its deletion was told", async () => {
  const server = new Server();
  const list = await listOf(server);
  list.add(pod("a", "2"));
  expect(await names(list)).toEqual(["a"]);
  server.change({ type: "put", pod: pod("a", "2") });
  server.change({ type: "deleted", pod: pod("a", "4") });
  list.add(pod("a", "2"));
  expect(await names(list)).toEqual([]);
  // A pod of the same name with another uid is another pod.
  list.add(pod("a", "6", "second"));
  server.change({ type: "deleted", pod: pod("a", "7") });
  expect(await names(list)).toEqual(["a"]);
});
