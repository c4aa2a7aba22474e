/**
 * Holds that limits which belong together stand together: those that files share in a `limits.ts`, none twice, Python's made from TypeScript's, and in the order that their
 * reasons need. `-u` writes `python/shoal/_limits.py` anew.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as alive from "../src/runtime/base/limits.ts";
import * as control from "../src/runtime/head/limits.ts";
import * as kept from "../src/runtime/control-plane/limits.ts";
import * as node from "../src/runtime/node/membership/limits.ts";
import * as store from "../src/runtime/objects/limits.ts";
import * as leases from "../src/runtime/scheduling/limits.ts";
import { FRAME_FLAG } from "../src/runtime/wire/frame.ts";
import { MESSAGE, PROTOCOL_VERSION, STREAMING } from "../src/runtime/wire/messages.ts";
import { farLimits, isLimitsFile, limitsIn, pythonLimits, readLimitModules, wantedByPython } from "./house/limits.ts";
import { readCode, readSources, REPOSITORY, sourceFile } from "./house/source-files.ts";

/** Units, and intervals of a loop that only its own file needs. */
const NO_LIMIT = /_PER_|^(TICK|LOOK_EVERY|WATCH_EVERY)_MS$/;
/** Sizes of a form, which are no limits. */
const OF_A_FORM: readonly string[] = ["CHUNK_HEAD_BYTES"];

test("a limit that other files import stands in a limits.ts", () => {
  const breaches = readSources()
    .filter(({ path }) => !isLimitsFile(path))
    .flatMap((file) => limitsIn(file))
    .filter(({ name, isExported }) => isExported && !OF_A_FORM.includes(name))
    .map(({ path, name }) => `src/${path}: ${name} belongs into the limits.ts of its subsystem`);
  expect(breaches).toEqual([]);
});

test("a limit stands in the limits.ts nearest to its readers", () => {
  expect(farLimits(readSources())).toEqual([]);
  const shared = 'import { ROWS_MAX } from "../limits.ts";';
  const tree = (...readers: readonly string[]): string[] =>
    farLimits([
      sourceFile("data/limits.ts", "export const ROWS_MAX = 3;"),
      sourceFile("data/engine/limits.ts", "export const STEP_MS = 3;"),
      ...readers.map((path) => sourceFile(path, shared)),
    ]);
  expect(tree("data/engine/run.ts")).toEqual(["src/data/limits.ts: ROWS_MAX belongs into src/data/engine/limits.ts, beside its readers"]);
  expect(tree("data/engine/run.ts", "data/plan/plan.ts")).toEqual([]);
});

test("no two files have a limit of the same name and value", () => {
  const all = readSources()
    .flatMap((file) => limitsIn(file))
    .filter(({ name, value }) => value !== undefined && !NO_LIMIT.test(name));
  expect(all.length).toBeGreaterThan(0);
  const breaches = Array.from(Map.groupBy(all, ({ name, value }) => `${name} = ${value}`))
    .filter(([, same]) => same.length > 1)
    .map(
      ([limit, same]) =>
        `${limit}: ${same.map(({ path }) => `src/${path}`).join(", ")}: one of them in a limits.ts, or names that tell them apart`,
    );
  expect(breaches).toEqual([]);
});

test("a limit is found with its value, a computed one without", () => {
  const text = [
    "const OPEN_WITHIN_MS = 5_000;",
    "export const FRAME_BYTES_MAX: number = 2 * 1024;",
    "export const FENCE_MS: number = 0.7 * DEAD_MS;",
    'const NAME = "x";',
    "  const LOCAL_MS = 3;",
  ].join("\n");
  expect(limitsIn({ path: "x.ts", text })).toEqual([
    { name: "OPEN_WITHIN_MS", path: "x.ts", isExported: false, value: 5000 },
    { name: "FRAME_BYTES_MAX", path: "x.ts", isExported: true, value: 2048 },
    { name: "FENCE_MS", path: "x.ts", isExported: true, value: undefined },
  ]);
});

test("python/shoal/_limits.py has the limits that Python shares with TypeScript", async () => {
  const text = pythonLimits(await readLimitModules(), wantedByPython());
  await expect(text).toMatchFileSnapshot(join(REPOSITORY, "python", "shoal", "_limits.py"));
});

test("Python has no limit of its own that TypeScript has, too", async () => {
  const names = new Set(Array.from((await readLimitModules()).values()).flatMap((limits) => Object.keys(limits)));
  const breaches = readCode()
    .filter(({ path }) => path.startsWith("python/shoal/") && !path.endsWith("/_limits.py"))
    .flatMap((file) => limitsIn(file))
    .filter(({ name, value }) => value !== undefined && names.has(name.replace(/_SECONDS$/, "_MS")))
    .map(({ path, name }) => `${path}: ${name} is in _limits.py for who imports it`);
  expect(breaches).toEqual([]);
});

test("the numbers of messages and flags are the same in Python", () => {
  const text = readFileSync(join(REPOSITORY, "python", "shoal", "_messages.py"), "utf8");
  const python = Object.fromEntries(Array.from(text.matchAll(/^(\w+) = (\S+)$/gm), ([, name = "", value = ""]) => [name, Number(value)]));
  const flags = Object.entries(FRAME_FLAG).map(([name, value]) => [`FLAG_${name}`, value] as const);
  const ours: Readonly<Record<string, number>> = { ...MESSAGE, ...Object.fromEntries(flags), PROTOCOL_VERSION, STREAMING };
  expect(Object.keys(python).length).toBeGreaterThan(0);
  expect(python).toEqual(Object.fromEntries(Object.keys(python).map((name) => [name, ours[name]])));
});

test("limits come in the order that their reasons need", () => {
  const { DEAD_AFTER_MS, FENCE_AFTER_MS, MARKED_FRACTION, PROOF_GOOD_MS, STORE_ELECTION_MS, WORKER_GRACE_MS } = alive;
  const chains: Readonly<Record<string, readonly number[]>> = {
    "a node is suspected, asks others, ends, and its workers have ended before its death can have been kept": [
      alive.SUSPECT_FRACTION * DEAD_AFTER_MS,
      node.ASK_AFTER_MS,
      node.ASK_AFTER_MS + node.NOBODY_ANSWERED_MS,
      FENCE_AFTER_MS,
      FENCE_AFTER_MS + WORKER_GRACE_MS,
      MARKED_FRACTION * DEAD_AFTER_MS,
      DEAD_AFTER_MS,
    ],
    "a head proves, may wait for an election, gives up, and its nodes look for another before they end": [
      alive.PROVE_EVERY_MS,
      node.UNPROVEN_AFTER_MS,
      STORE_ELECTION_MS,
      node.STORE_AWAY_MS,
      kept.TRANSACTION_TIMEOUT_MS,
      control.GIVES_UP_AFTER_MS,
      PROOF_GOOD_MS,
      PROOF_GOOD_MS + FENCE_AFTER_MS,
    ],
    "what the head keeps fits into what NATS takes": [
      kept.VALUE_BYTES_MAX,
      kept.MESSAGE_BYTES_MAX,
      control.COMMIT_BYTES_MAX,
      kept.STREAM_BYTES_MAX,
    ],
    "a store makes room before it is full": [store.SPILL_DOWN_TO, store.IDLE_COPIES_UP_TO, store.SPILL_ABOVE, 1],
    "a caller returns an idle lease before it is taken": [leases.LEASE_IDLE_MS, leases.RECLAIM_AFTER_IDLE_MS, leases.WAIT_BEFORE_REVOKE_MS],
    "a short demand makes nobody give back, a long one does": [leases.REMOTE_WAIT_MS, leases.PATIENT_FROM_MS, leases.PROBE_WAIT_MS],
  };
  const wrong = Object.entries(chains).filter(([, [first = 0, ...rest]]) =>
    rest.some((value, index) => value <= (rest[index - 1] ?? first)),
  );
  expect(wrong).toEqual([]);
});
