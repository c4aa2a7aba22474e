import { expect, test } from "vitest";
import type { ObjectId } from "../../base/ids.ts";
import { KnownValues } from "./known-values.ts";
import type { RefValue } from "./ref-values.ts";

const value = (bytes: number): RefValue => ({ header: {} as RefValue["header"], body: new Uint8Array(bytes) });

test("values beyond the limit are not kept, and room that is given back is used again", () => {
  const known = new KnownValues(4000);
  known.told("a" as ObjectId, value(1400));
  known.told("b" as ObjectId, value(1400));
  known.told("c" as ObjectId, value(1400));
  expect(known.get("c" as ObjectId)).toBeUndefined();
  // Told again, a value takes its place once.
  known.told("b" as ObjectId, value(1300));
  known.forget("a" as ObjectId);
  known.told("c" as ObjectId, value(1400));
  expect(known.get("c" as ObjectId)?.body).toHaveLength(1400);
  known.forget("b" as ObjectId);
  known.forget("c" as ObjectId);
  known.forget("c" as ObjectId);
  expect(known.size).toBe(0);
  known.told("d" as ObjectId, value(3400));
  expect(known.size).toBe(1);
});
