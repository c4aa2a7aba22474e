/**
 * The timers and clocks that this process had when Shoal was loaded.
 *
 * The fake timers of test runners replace the global functions, and a runtime that waits with those stands still until the test moves its
 * clock. The bundler (scripts/bundle.mjs) writes these names in place of `setTimeout`, `performance.now` and the like; sources import
 * nothing from here.
 */
const { process, performance, Date } = globalThis;
// Taken apart, as the bundler would write the names from below here, too.
const { now: performanceNow } = performance;
const { now: dateNow } = Date;
// In a browser, where only shoal/tensor runs, there is no process.
const { nextTick } = (process as typeof process | undefined) ?? { nextTick: globalThis.queueMicrotask };

export const ownSetTimeout: typeof setTimeout = globalThis.setTimeout;
export const ownClearTimeout: typeof clearTimeout = globalThis.clearTimeout;
export const ownSetInterval: typeof setInterval = globalThis.setInterval;
export const ownClearInterval: typeof clearInterval = globalThis.clearInterval;
export const ownSetImmediate: typeof setImmediate = globalThis.setImmediate;
export const ownClearImmediate: typeof clearImmediate = globalThis.clearImmediate;
export const ownQueueMicrotask: typeof queueMicrotask = globalThis.queueMicrotask;
export const ownNextTick: typeof process.nextTick = nextTick.bind(process);
export const ownPerformanceNow: () => number = performanceNow.bind(performance);
export const ownDateNow: () => number = dateNow.bind(Date);
