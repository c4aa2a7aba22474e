/**
 * The contract of a `NodeProvider`, as cases for any runner of tests: names, idempotence, lost answers, quota, lists that lag, ends.
 *
 * `make` gives each case a fresh provider, which the case closes. A case that needs a fault which the provider cannot inject is left out and
 * says so. Waits are for conditions, with one limit for all.
 */
import { ShoalError } from "../runtime/base/errors.ts";
import type { LaunchAnswer, LaunchRequest, NodeProvider, ProviderNode } from "../ops/autoscaler/index.ts";

/** Faults that a test can switch on, where the provider or its double can. */
export interface ProviderFaults {
  /** Refuses launches for lack of quota. */
  readonly quota?: (isOn: boolean) => void;
  /** Carries out the next `count` launches and loses their answers. */
  readonly loseAnswers?: (count: number) => void;
  /** Lists show the state of so many milliseconds ago. */
  readonly lagMs?: (ms: number) => void;
}

/** A provider without instances. */
export interface ProviderUnderTest {
  readonly provider: NodeProvider;
  /** Ends all that it launched. */
  readonly close: () => Promise<void>;
  /** Parts of each launch request that this provider needs: type, resources, `nodeConfig`, command, join token. */
  readonly request?: Partial<LaunchRequest>;
  readonly inject?: ProviderFaults;
}

export interface ProviderCase {
  readonly name: string;
  /** Runs the case. @returns why it was left out; undefined where it ran @throws ShoalError for a breach of the contract */
  readonly run: () => Promise<string | undefined>;
}

interface Tested extends ProviderUnderTest {
  readonly wanted: (instanceId: string) => LaunchRequest;
  readonly until: (isSo: (listed: readonly ProviderNode[]) => boolean, what: string) => Promise<void>;
}

/** A provider has so long to list a launch, and to carry out an end. */
const WITHIN_MS = 60_000;
const LOOKS_EVERY_MS = 20;
const LONGEST_NAME = `i${"0123456789".repeat(6)}-z`;

/**
 * Makes the cases for a provider.
 *
 * @example
 * for (const { name, run } of providerSuite(make)) test(name, async () => void (await run()));
 */
export function providerSuite(
  make: () => Promise<ProviderUnderTest>,
  { withinMs = WITHIN_MS }: { withinMs?: number } = {},
): readonly ProviderCase[] {
  return Object.entries(CASES).map(([name, body]) => ({
    name,
    run: async () => {
      const made = await make();
      const until: Tested["until"] = async (isSo, what) => {
        const giveUpAtMs = performance.now() + withinMs;
        while (!isSo(await made.provider.list())) {
          if (performance.now() > giveUpAtMs) throw breach(name, `${what} within ${withinMs} ms`);
          await new Promise((resolve) => setTimeout(resolve, LOOKS_EVERY_MS));
        }
      };
      try {
        return await body({ ...made, until, wanted: (instanceId) => requestOf(instanceId, made.request) });
      } finally {
        await made.close();
      }
    },
  }));
}

const CASES: Readonly<Record<string, (tested: Tested) => Promise<string | undefined>>> = {
  "launched instances are answered once each and listed under their names": async ({ provider, wanted, until }) => {
    const answers = await provider.launch([wanted("first"), wanted(LONGEST_NAME)]);
    const names = answers.map(({ instanceId }) => instanceId).toSorted();
    require(names.join() === ["first", LONGEST_NAME].toSorted().join(), `both launches are answered once: received ${names.join()}`);
    for (const answer of answers) requireLaunched(answer);
    await until((listed) => areListed(listed, "first", LONGEST_NAME), "both instances are listed");
    const [one] = (await provider.list()).filter(({ instanceId }) => instanceId === "first");
    require(one?.type === wanted("first").type, `the list has the type of the request: received ${one?.type}`);
    return undefined;
  },
  "a launch under a known name launches nothing": async ({ provider, wanted, until }) => {
    await provider.launch([wanted("one")]);
    await until((listed) => areListed(listed, "one"), "the instance is listed");
    const before = (await provider.list()).find(({ instanceId }) => instanceId === "one")?.providerId;
    requireLaunched((await provider.launch([wanted("one")]))[0]);
    const listed = (await provider.list()).filter(({ instanceId }) => instanceId === "one");
    require(listed.length === 1 && listed[0]?.providerId === before, `one instance has the name: received ${listed.length}`);
    return undefined;
  },
  "a launch whose answer was lost may be asked for again": async ({ provider, wanted, until, inject }) => {
    if (inject?.loseAnswers === undefined) return "the provider cannot lose answers";
    inject.loseAnswers(1);
    const isLost = await provider.launch([wanted("lost")]).then(
      (answers) => answers.length === 0,
      () => true,
    );
    require(isLost, "the answer is lost");
    requireLaunched((await provider.launch([wanted("lost")]))[0]);
    await until((listed) => areListed(listed, "lost"), "the instance is listed");
    const count = (await provider.list()).filter(({ instanceId }) => instanceId === "lost").length;
    require(count === 1, `one instance has the name: received ${count}`);
    return undefined;
  },
  "an ended instance leaves the list, and a second end is no error": async ({ provider, wanted, until }) => {
    await provider.launch([wanted("short"), wanted("long")]);
    await until((listed) => areListed(listed, "short", "long"), "both instances are listed");
    await provider.terminate(["short"]);
    await until((listed) => listed.every(({ instanceId, state }) => instanceId !== "short" || state === "failed"), "the ended one leaves");
    await provider.terminate(["short", "never-launched"]);
    require(areListed(await provider.list(), "long"), "the other instance stays");
    return undefined;
  },
  "a launch beyond the quota is refused with its cause, and nothing exists": async ({ provider, wanted, inject }) => {
    if (inject?.quota === undefined) return "the provider has no quota to reach";
    inject.quota(true);
    const [answer] = await provider.launch([wanted("refused")]);
    require(answer !== undefined && "cause" in answer && answer.cause === "quota" && answer.message !== "", "the answer names the quota");
    require(!(await provider.list()).some(({ instanceId, state }) => instanceId === "refused" && state !== "failed"), "nothing is listed");
    inject.quota(false);
    requireLaunched((await provider.launch([wanted("later")]))[0]);
    return undefined;
  },
  "a list that lags shows a launch in the end, once": async ({ provider, wanted, until, inject }) => {
    if (inject?.lagMs === undefined) return "the provider's list cannot lag";
    inject.lagMs(200);
    await provider.launch([wanted("late")]);
    requireLaunched((await provider.launch([wanted("late")]))[0]);
    await until((listed) => listed.filter(({ instanceId }) => instanceId === "late").length === 1, "the instance is listed once");
    return undefined;
  },
};

function requestOf(instanceId: string, given: Partial<LaunchRequest> = {}): LaunchRequest {
  const labels = { "shoal.io/instance-id": instanceId, ...given.labels };
  return { type: "worker", resources: { CPU: 1 }, nodeConfig: {}, command: [], env: {}, joinToken: "", ...given, instanceId, labels };
}

function areListed(listed: readonly ProviderNode[], ...ids: readonly string[]): boolean {
  return ids.every((id) => listed.some(({ instanceId, state }) => instanceId === id && (state === "pending" || state === "running")));
}

function requireLaunched(answer: LaunchAnswer | undefined): void {
  const problem = answer === undefined ? "no answer" : "cause" in answer ? `${answer.cause}: ${answer.message}` : undefined;
  require(problem === undefined, `the launch is accepted: received ${problem}`);
}

function require(isSo: boolean, what: string): void {
  if (!isSo) throw breach("the provider", what);
}

function breach(who: string, what: string): ShoalError {
  return new ShoalError(`Cannot accept the provider: ${who}: expected that ${what}.`, {
    reason: what,
    hint: "See docs/autoscaler.md for the contract.",
  });
}
