/**
 * Heads that race for the lead, on memory and over real servers: one leads, and when it goes another leads, with the first one's records.
 */
import { expect, test } from "vitest";
import { HeadElection } from "../../src/runtime/head/leadership/head-election.ts";
import { Journal } from "../../src/runtime/head/tables/journal.ts";
import { claimLeadership, type Leadership } from "../../src/runtime/head/leadership/leadership.ts";
import { until } from "./nats-servers.ts";
import { type Client, eachPlane } from "./planes.ts";

class Candidate {
  readonly election: HeadElection;
  readonly journals: Journal[] = [];
  leadership: Leadership | undefined;
  ends = 0;
  /** Records that are not kept yet while it leads. */
  readonly #unkept = new Set<(isKept: boolean) => void>();
  readonly #client: Client;

  constructor(client: Client, id: string) {
    this.#client = client;
    this.election = new HeadElection({
      id,
      address: `${id}:1`,
      store: client.store,
      bus: client.bus,
      lead: async (leadership, election) => {
        this.leadership = leadership;
        const onLost = (error: Error): void => election.stepDown(error.message);
        this.journals.push(new Journal({ commit: (writes) => leadership.commit(writes), onLost }));
        const end = (): void => {
          this.ends += 1;
          for (const resolve of this.#unkept) resolve(false);
        };
        return { end };
      },
      onError: () => {},
    });
  }

  /** @returns false when it led no more before that was kept */
  async keep(key: string): Promise<boolean> {
    if (!this.election.leads) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#unkept.add(resolve);
    this.journals.at(-1)?.after([{ key, value: new Uint8Array([1]) }], () => resolve(true));
    return await promise;
  }

  async die(): Promise<void> {
    this.election.close();
    await this.#client[Symbol.asyncDispose]();
  }
}

eachPlane("heads", (start) => {
  test("one leads; after its death another leads in seconds, and what was kept is there; one that only could not be heard keeps nothing more", async () => {
    await using plane = await start();
    await using observer = await plane.open();
    const candidates = await Promise.all(["a", "b", "c"].map(async (id) => new Candidate(await plane.open(), id)));
    const leaders = (): Candidate[] => candidates.filter(({ election }) => election.leads);
    // A leader that stands still for a second is replaced, and keeps nothing.
    let first = candidates[0] as Candidate;
    await until(async () => {
      [first = first] = leaders();
      return leaders().length === 1 && (await first.keep("kept"));
    }, "a head leads");
    candidates.splice(candidates.indexOf(first), 1);
    const diedMs = performance.now();
    await first.die();
    await until(() => leaders().length === 1, "another head leads");
    // At once: on a busy machine it may end a term and lead again at any time.
    const [second] = leaders() as [Candidate];
    const { ends } = second;
    // Silence is noticed within two seconds; a leader that cannot prove that it leads gives up after 13.
    expect(performance.now() - diedMs).toBeLessThan(10_000);
    expect((await observer.store.get("kept"))?.value[0]).toBe(1);

    // A rival claims the next term although the leader lives: the leader's next write is refused, and it steps down.
    await claimLeadership(observer.store, { id: "usurper" });
    void second.keep("lost");
    await until(() => second.ends > ends, "the replaced head ends its term");
    expect(await observer.store.get("lost")).toBeUndefined();
    await Promise.all(candidates.map((candidate) => candidate.die()));
  });
});
