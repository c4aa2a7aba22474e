import fc from "fast-check";
import { expect, test } from "vitest";
import { resourceVector } from "../base/resources.ts";
import { capturesChildren, holdsOnlyCpus, leaseKey, type LeasePlace, parseLeaseSpec, specResources } from "./lease-spec.ts";

test("a plain task's key is its CPUs and no more", () => {
  expect(leaseKey(resourceVector({ CPU: 1 }), {})).toBe("CPU:10000");
  expect(leaseKey(resourceVector({ CPU: 1 }), { spread: false, labels: {}, environment: "" })).toBe("CPU:10000");
  expect(parseLeaseSpec("")).toMatchObject({ key: "", environment: "", resources: { key: "" } });
});

test("a key is read as what it was made of, whatever is in names and values", () => {
  const name = fc.string({ minLength: 1, maxLength: 10 }).filter((text) => !text.includes(","));
  const place: fc.Arbitrary<LeasePlace> = fc.record(
    {
      spread: fc.constant(true),
      node: fc.record({ id: fc.string(), soft: fc.boolean() }),
      labels: fc.dictionary(fc.string({ minLength: 1 }), fc.string(), { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
      bundle: fc.record({ group: fc.string(), index: fc.integer({ min: -1, max: 9 }), capture: fc.boolean() }),
      environment: fc.stringMatching(/^[\w-]{1,40}$/),
    },
    { requiredKeys: [] },
  );
  const resources = fc.dictionary(name, fc.integer({ min: 1, max: 1000 }), { maxKeys: 4, noNullPrototype: true });
  fc.assert(
    fc.property(resources, place, (given, where) => {
      fc.pre(!Object.hasOwn(given, "__proto__") && !Object.hasOwn(where.labels ?? {}, "__proto__"));
      const key = leaseKey(resourceVector(given), where);
      const spec = parseLeaseSpec(key);
      expect({ ...where, environment: where.environment ?? "" }).toEqual({
        ...(spec.spread === undefined ? {} : { spread: spec.spread }),
        ...(spec.node === undefined ? {} : { node: spec.node }),
        ...(spec.labels === undefined ? {} : { labels: spec.labels }),
        ...(spec.bundle === undefined ? {} : { bundle: spec.bundle }),
        environment: spec.environment,
      });
      expect(leaseKey(spec.resources, spec)).toBe(key);
      expect(specResources(key)).toEqual(given);
    }),
  );
});

test("what it falls back on keeps its order and is part of the key, as far as it is ever looked at", () => {
  const cpu = resourceVector({ CPU: 1 });
  const place: LeasePlace = { labels: { zone: "a" }, fallbacks: [{ zone: "c", disk: "x" }, { zone: "b" }] };
  const key = leaseKey(cpu, place);
  expect(key).toBe('CPU:10000,,{"labels":[["zone","a"]],"fallbacks":[[["disk","x"],["zone","c"]],[["zone","b"]]]}');
  const spec = parseLeaseSpec(key);
  expect(spec).toMatchObject(place);
  expect(leaseKey(spec.resources, spec)).toBe(key);
  expect(leaseKey(cpu, { ...place, fallbacks: [{ zone: "b" }, { zone: "c", disk: "x" }] })).not.toBe(key);
  // Every node meets a selector without conditions.
  expect(leaseKey(cpu, { ...place, fallbacks: [{}, { zone: "b" }] })).toBe('CPU:10000,,{"labels":[["zone","a"]],"fallbacks":[[]]}');
  expect(leaseKey(cpu, { fallbacks: [{ zone: "b" }] })).toBe("CPU:10000");
  expect(leaseKey(cpu, { labels: { zone: "a" }, fallbacks: [] })).toBe(leaseKey(cpu, { labels: { zone: "a" } }));
});

test("CPUs are apart from what is kept while a task waits", () => {
  const spec = parseLeaseSpec(leaseKey(resourceVector({ CPU: 2, GPU: 0.5, license: 1 }), {}));
  expect(spec.cpus.key).toBe("CPU:20000");
  expect(spec.rest.key).toBe("GPU:5000,license:10000");
  expect(holdsOnlyCpus(spec.key)).toBe(false);
  const inGroup = leaseKey(resourceVector({ CPU: 1 }), { bundle: { group: "g", index: 0, capture: true } });
  expect([holdsOnlyCpus(inGroup), holdsOnlyCpus(""), capturesChildren(inGroup), capturesChildren("CPU:10000")]).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

const NO_PLACES = [
  "null",
  "7",
  '{"spread":1}',
  '{"node":[7,true]}',
  '{"node":["x"]}',
  '{"labels":7}',
  '{"labels":[["a",1]]}',
  '{"fallbacks":[7]}',
  '{"bundle":["g",0.5,true]}',
  '{"bundle":"g"}',
  // An environment key names a folder on each node.
  '{"environment":"../x"}',
];

test.each(["CPU", "CPU:-5", "CPU:1.5", ":3", "CPU:10000,", "CPU:x", ...NO_PLACES.map((place) => `CPU:10000,,${place}`)])(
  "%j is no key",
  (text) => {
    expect(() => parseLeaseSpec(text)).toThrow(RangeError);
  },
);
