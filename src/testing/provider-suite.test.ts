/** The contract of providers: a good one passes every case, and each broken one fails the case that is about its fault. */
import { describe, expect, test } from "vitest";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../ops/autoscaler/index.ts";
import { providerSuite, type ProviderUnderTest } from "./provider-suite.ts";

/** A provider in memory, with switches for its faults. */
class Double implements NodeProvider {
  protected readonly nodes = new Map<string, ProviderNode>();
  #lost = 0;
  #isFull = false;
  #lagMs = 0;
  #history: { atMs: number; nodes: ProviderNode[] }[] = [];
  #names = 0;

  check(): void {}

  list(): Promise<ProviderNode[]> {
    const nowMs = performance.now();
    this.#history.push({ atMs: nowMs, nodes: this.listed() });
    if (this.#lagMs === 0) return Promise.resolve(this.listed());
    return Promise.resolve(this.#history.findLast(({ atMs }) => atMs <= nowMs - this.#lagMs)?.nodes ?? []);
  }

  protected listed(): ProviderNode[] {
    return Array.from(this.nodes.values());
  }

  launch(wanted: readonly LaunchRequest[]): Promise<LaunchAnswer[]> {
    const answers = wanted.map((request) => this.answer(request));
    if (this.#lost === 0) return Promise.resolve(answers);
    this.#lost -= 1;
    return Promise.reject(new Error("the connection was lost"));
  }

  protected answer({ instanceId, type }: LaunchRequest): LaunchAnswer {
    if (this.#isFull) return { instanceId, cause: "quota", message: "2 of 2 machines" };
    if (!this.nodes.has(instanceId)) this.add(instanceId, type);
    return { instanceId };
  }

  protected add(instanceId: string, type: string, key = instanceId): void {
    this.#names += 1;
    this.nodes.set(key, { instanceId, providerId: `p${this.#names}`, type, state: "running" });
  }

  terminate(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.nodes.delete(id);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  get underTest(): ProviderUnderTest {
    const loseAnswers = (count: number): void => void (this.#lost = count);
    const quota = (isOn: boolean): void => void (this.#isFull = isOn);
    const lagMs = (ms: number): void => void (this.#lagMs = ms);
    return { provider: this, close: () => this.close(), inject: { loseAnswers, quota, lagMs } };
  }
}

const failures = async (double: () => Double): Promise<string[]> => {
  const cases = providerSuite(() => Promise.resolve(double().underTest), { withinMs: 500 });
  const results = await Promise.all(
    cases.map(({ name, run }) =>
      run().then(
        () => undefined,
        () => name,
      ),
    ),
  );
  return results.filter((name) => name !== undefined);
};

describe("a provider", () => {
  test("that keeps the contract passes every case", async () => {
    expect(await failures(() => new Double())).toEqual([]);
  });

  test("that launches a name twice fails", async () => {
    class Twice extends Double {
      protected override answer(request: LaunchRequest): LaunchAnswer {
        this.add(request.instanceId, request.type, `${request.instanceId}/${this.nodes.size}`);
        return { instanceId: request.instanceId };
      }
    }
    const failed = await failures(() => new Twice());
    expect(failed).toContain("a launch under a known name launches nothing");
    expect(failed).toContain("a launch whose answer was lost may be asked for again");
  });

  test("that ends nothing, or lists nothing, or hides its quota fails", async () => {
    class Immortal extends Double {
      override terminate(): Promise<void> {
        return Promise.resolve();
      }
    }
    class Blind extends Double {
      protected override listed(): ProviderNode[] {
        return [];
      }
    }
    class Silent extends Double {
      protected override answer(request: LaunchRequest): LaunchAnswer {
        const answer = super.answer(request);
        return "cause" in answer ? { ...answer, cause: "other" } : answer;
      }
    }
    expect(await failures(() => new Immortal())).toEqual(["an ended instance leaves the list, and a second end is no error"]);
    expect((await failures(() => new Blind())).length).toBeGreaterThanOrEqual(4);
    expect(await failures(() => new Silent())).toEqual(["a launch beyond the quota is refused with its cause, and nothing exists"]);
  });

  test("without switches for faults has those cases left out, by name of the lack", async () => {
    const cases = providerSuite(() => {
      const { inject: _inject, ...plain } = new Double().underTest;
      return Promise.resolve(plain);
    });
    const said = await Promise.all(cases.map(({ run }) => run()));
    expect(said.filter((text) => text !== undefined)).toHaveLength(3);
  });
});
