/** Registered serializers inside what functions capture, and their end. */
import { remote } from "shoal";
import { deregisterSerializer, registerSerializer } from "shoal/util";
import { expect, test } from "vitest";
import { useSession } from "./session.ts";

useSession({ numCpus: 1 });

class Celsius {
  readonly degrees: number;
  constructor(degrees: number) {
    this.degrees = degrees;
  }
}

test("an instance that a function captures is read with the deserializer", async () => {
  registerSerializer(Celsius, { serialize: ({ degrees }) => degrees, deserialize: (degrees: number) => new Celsius(degrees + 1000) });
  const captured = new Celsius(1);
  expect(await remote(() => captured.degrees).remote()).toBe(1001);
  class Reader {
    read(): number {
      return captured.degrees;
    }
  }
  expect(await remote(Reader).remote().read.remote()).toBe(1001);
});

test("after the registration has ended instances travel as any other", async () => {
  registerSerializer(Celsius, { serialize: ({ degrees }) => degrees, deserialize: (degrees: number) => new Celsius(degrees + 1000) });
  const read = remote((value: Celsius) => value.degrees);
  expect(await read.remote(new Celsius(1))).toBe(1001);
  deregisterSerializer(Celsius);
  expect(await read.remote(new Celsius(1))).toBe(1);
});
