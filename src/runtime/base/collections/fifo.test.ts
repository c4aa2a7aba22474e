import fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "./fifo.ts";

test("a queue behaves as an array does, whatever is pushed and shifted", () => {
  const stepArbitrary = fc.oneof(
    fc.record({ push: fc.integer() }),
    fc.record({ unshift: fc.integer() }),
    fc.constant("shift" as const),
    fc.constant("odd" as const),
  );
  fc.assert(
    fc.property(fc.array(stepArbitrary, { maxLength: 200 }), (steps) => {
      const queue = new Fifo<number>();
      let oracle: number[] = [];
      for (const step of steps) {
        if (step === "shift") expect(queue.shift()).toBe(oracle.shift());
        else if (step === "odd") {
          expect(queue.removeWhere((item) => item % 2 !== 0)).toEqual(oracle.filter((item) => item % 2 !== 0));
          oracle = oracle.filter((item) => item % 2 === 0);
        } else if ("push" in step) {
          queue.push(step.push);
          oracle.push(step.push);
        } else {
          queue.unshift(step.unshift);
          oracle.unshift(step.unshift);
        }
        expect(queue.size).toBe(oracle.length);
        expect(queue.peek()).toBe(oracle[0]);
        expect([...queue]).toEqual(oracle);
      }
    }),
  );
});

test("a queue that was long gives its memory back and stays in order", () => {
  const queue = new Fifo<number>();
  for (let number = 0; number < 100_000; number += 1) queue.push(number);
  for (let number = 0; number < 100_000; number += 1) expect(queue.shift()).toBe(number);
  expect(queue.size).toBe(0);
});
