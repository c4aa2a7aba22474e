/**
 * Tells native generators from other functions, when something is made remote: their calls return streams without being told to.
 *
 * Code that was lowered for an older language has no native generators; it says `numReturns: "streaming"` instead.
 */

/** Whether the function was written with `function*` or `async function*`; also as a method, and when bound. */
export function isGeneratorFunction(value: unknown): boolean {
  if (typeof value !== "function") return false;
  const tag = Object.prototype.toString.call(value);
  return tag === "[object GeneratorFunction]" || tag === "[object AsyncGeneratorFunction]";
}
