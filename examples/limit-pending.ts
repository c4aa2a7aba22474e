/**
 * Limits how many tasks are pending: `wait` for some before more are submitted.
 *
 * Without a limit a million tasks take memory for a million calls and their arguments before the first has run. Where the results fit an
 * `ActorPool` or a `Pool`, those do the same by themselves.
 */
import { get, type ObjectRef, remote, shutdown, wait } from "shoal";

const TASKS = 500;
const PENDING_MAX = 20;

const digitsOf = remote((value: number) => String(value ** 2).length);

let pending: ObjectRef<number>[] = [];
let digits = 0;
let pendingMost = 0;
for (let value = 0; value < TASKS; value += 1) {
  if (pending.length === PENDING_MAX) {
    const [ready, rest] = await wait(pending, { numReturns: PENDING_MAX / 2 });
    for (const count of await get(ready)) digits += count;
    pending = rest;
  }
  pending.push(digitsOf.remote(value));
  pendingMost = Math.max(pendingMost, pending.length);
}
for (const count of await get(pending)) digits += count;
console.log(`${digits} digits, at most ${pendingMost} tasks pending`);
await shutdown();
