/**
 * `Dict` and `Tuple`: spaces made of other spaces.
 *
 * A value of a `Dict` is an object with exactly the keys of the space, a value of a `Tuple` an array.
 * A seed reaches all parts, each with another stream.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Space, spaceError, type SpaceJson, type ValueOf } from "./space.ts";

type Spaces = Readonly<Record<string, Space>>;

export class Dict<S extends Spaces = Spaces> extends Space<{ [K in keyof S]: ValueOf<S[K]> }> {
  readonly type = "Dict";
  readonly spaces: S;

  constructor(spaces: S) {
    super();
    const entries = typeof spaces === "object" && spaces !== null ? Object.entries(spaces) : [];
    if (entries.length === 0) throw spaceError("Dict", "an object of spaces is needed", spaces);
    for (const [key, space] of entries) if (!(space instanceof Space)) throw spaceError("Dict", `${JSON.stringify(key)} is a space`, space);
    this.spaces = Object.freeze({ ...spaces });
  }

  misfit(value: unknown): string | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return `an object is needed: received ${describeValue(value)}`;
    const members = value as Readonly<Record<string, unknown>>;
    for (const [key, space] of Object.entries(this.spaces)) {
      if (!Object.hasOwn(members, key)) return `the key ${JSON.stringify(key)} is missing: received ${describeValue(value)}`;
      const misfit = space.misfit(members[key]);
      if (misfit !== undefined) return `${key}: ${misfit}`;
    }
    const extra = Object.keys(members).find((key) => !Object.hasOwn(this.spaces, key));
    return extra === undefined ? undefined : `the space has no key ${JSON.stringify(extra)}: it has ${Object.keys(this.spaces).join(", ")}`;
  }

  override seed(seed: number): void {
    super.seed(seed);
    for (const space of Object.values(this.spaces)) space.seed(this.random.integer(2 ** 31));
  }

  /** @param masks - by key, where the part takes one */
  sample(masks: Readonly<Record<string, unknown>> = {}): { [K in keyof S]: ValueOf<S[K]> } {
    const drawn = Object.entries(this.spaces).map(([key, space]) => [key, space.sample(masks[key])] as const);
    return Object.fromEntries(drawn) as { [K in keyof S]: ValueOf<S[K]> };
  }

  toJSON(): SpaceJson {
    // The order of keys is part of a space: it is the order of the parts in a network's input.
    const spaces = Object.entries(this.spaces).map(([key, space]) => [key, space.toJSON()] as const);
    return { type: this.type, spaces };
  }
}

export class Tuple<S extends readonly Space[] = readonly Space[]> extends Space<{ -readonly [K in keyof S]: ValueOf<S[K]> }> {
  readonly type = "Tuple";
  readonly spaces: S;

  constructor(spaces: readonly [...S]) {
    super();
    if (!Array.isArray(spaces) || spaces.length === 0) throw spaceError("Tuple", "a list of spaces is needed", spaces);
    for (const space of spaces as readonly unknown[])
      if (!(space instanceof Space)) throw spaceError("Tuple", "each part is a space", space);
    this.spaces = Object.freeze([...spaces]) as unknown as S;
  }

  misfit(value: unknown): string | undefined {
    if (!Array.isArray(value) || value.length !== this.spaces.length)
      return `an array of ${this.spaces.length} values is needed: received ${describeValue(value)}`;
    for (const [index, space] of this.spaces.entries()) {
      const misfit = space.misfit(value[index]);
      if (misfit !== undefined) return `part ${index}: ${misfit}`;
    }
    return undefined;
  }

  override seed(seed: number): void {
    super.seed(seed);
    for (const space of this.spaces) space.seed(this.random.integer(2 ** 31));
  }

  /** @param masks - by place, where the part takes one */
  sample(masks: readonly unknown[] = []): { -readonly [K in keyof S]: ValueOf<S[K]> } {
    return this.spaces.map((space, index) => space.sample(masks[index])) as never;
  }

  toJSON(): SpaceJson {
    return { type: this.type, spaces: this.spaces.map((space) => space.toJSON()) };
  }
}
