import { expect, test } from "vitest";
import { TakenSettings } from "./taken-settings.ts";

/** User code that fails or hangs on request, and records its arguments. */
class Code {
  readonly given: unknown[] = [];
  next: Promise<void> = Promise.resolve();
  sickWith: unknown;

  async checkHealth(): Promise<void> {
    if (this.sickWith !== undefined && this.given.at(-1) === this.sickWith) throw new Error("no model");
  }

  async reconfigure(userConfig: unknown): Promise<void> {
    this.given.push(userConfig);
    await this.next;
  }

  async setRank(rank: number, worldSize: number): Promise<void> {
    this.given.push([rank, worldSize]);
    await this.next;
  }
}

const started = { userConfig: "1", maxOngoingRequests: 1, rank: 0, worldSize: 1 };

function taken(): { code: Code; settings: TakenSettings; context: { rank: number; worldSize: number } } {
  const context = { rank: 0, worldSize: 1 };
  return { code: new Code(), settings: new TakenSettings("1", context), context };
}

test("a rank that the code failed to take is given to it again, and one that it has taken is not", async () => {
  const { code, settings, context } = taken();
  code.next = Promise.reject(new Error("no answer"));
  const first = settings.take({ ...started, worldSize: 2 }, code);
  await Promise.resolve();
  expect(settings.isRankTold).toBe(false);
  await expect(first).rejects.toThrow("no answer");
  expect(settings.isRankTold).toBe(false);
  code.next = Promise.resolve();
  await settings.take({ ...started, worldSize: 2 }, code);
  expect(settings.isRankTold).toBe(true);
  await settings.take({ ...started, worldSize: 2 }, code);
  expect(code.given).toEqual([
    [0, 2],
    [0, 2],
  ]);
  expect(context).toEqual({ rank: 0, worldSize: 2 });
});

test("a call under way and a failed one are told apart, and a configuration that failed is given again", async () => {
  const { code, settings } = taken();
  const { promise, reject } = Promise.withResolvers<void>();
  code.next = promise;
  const first = settings.take({ ...started, userConfig: "2" }, code);
  await Promise.resolve();
  expect([settings.userConfig, settings.isMisconfigured, settings.isReconfiguring]).toEqual(["2", true, true]);
  reject(new Error("a bad configuration"));
  await expect(first).rejects.toThrow("a bad configuration");
  expect([settings.userConfig, settings.isMisconfigured, settings.isReconfiguring]).toEqual(["2", true, false]);
  code.next = Promise.resolve();
  await settings.take({ ...started, userConfig: "2" }, code);
  expect([settings.userConfig, settings.isMisconfigured, settings.isReconfiguring]).toEqual(["2", false, false]);
  expect(code.given).toEqual([2, 2]);
});

test("calls wait for the one under way, and the same configuration told again while it is taken is given once", async () => {
  const { code, settings } = taken();
  const { promise, resolve } = Promise.withResolvers<void>();
  code.next = promise;
  const calls = ["2", "2", "3"].map((userConfig) => settings.take({ ...started, userConfig }, code));
  await Promise.resolve();
  expect(code.given).toEqual([2]);
  resolve();
  await Promise.all(calls);
  expect(code.given).toEqual([2, 3]);
});

test("a configuration with which the code is not healthy counts as failed, and is given to it again", async () => {
  const { code, settings } = taken();
  code.sickWith = 2;
  await expect(settings.take({ ...started, userConfig: "2" }, code)).rejects.toThrow(
    "the health check failed with the new userConfig: no model",
  );
  expect([settings.isMisconfigured, settings.isReconfiguring]).toEqual([true, false]);
  code.sickWith = undefined;
  await settings.take({ ...started, userConfig: "2" }, code);
  expect(settings.isMisconfigured).toBe(false);
  expect(code.given).toEqual([2, 2]);
});
