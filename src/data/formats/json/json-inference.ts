/**
 * The types of columns of JSON, from their values.
 *
 * Whole numbers are int64, read as bigint if one is beyond 2^53. A fraction among them makes the column float64, which is an error if that would round a whole
 * number. Arrays are lists, and objects are structs with the parts of all. Objects whose keys are ids become texts of JSON. Nulls fit everywhere. A text stays
 * a text, even if it looks like a number. Later rows may add parts or turn int64 into float64, which earlier blocks are compatible with.
 */
import { BIG_INT64, BOOL, type DataType, FLOAT64, INT64, NULL, STRING, typeName } from "../../blocks/data-type.ts";
import { JSON_SPARSE_KEYS_MAX } from "../../limits.ts";
import { holdsWhole } from "../texts/number-text.ts";

const INTEGER = 1;
const BIG_INTEGER = 2;
const FLOAT = 4;
const NUMBERS: number = INTEGER | BIG_INTEGER | FLOAT;
const BOOLEAN = 8;
const TEXT = 16;
const LIST = 32;
const STRUCT = 64;

/** The possible types of one column, or of one part. */
export class JsonInference {
  #seen = 0;
  #elements: JsonInference | undefined;
  #parts: Map<string, JsonInference> | undefined;
  /** A whole number that a float64 would round. */
  #inexact: bigint | undefined;
  /** How many objects came, and how many parts they have together. */
  #objects = 0;
  #filled = 0;
  /** The objects have so many keys that their JSON is taken. */
  #isText = false;
  /** Blocks of the type as it was have been given out. */
  #isSettled = false;

  /** Takes a value. @returns a problem, worded to follow the row's name, if the value is incompatible with those before */
  add(value: unknown): string | undefined {
    const form = formOf(value);
    if (form === 0) return undefined;
    const seen = this.#seen;
    const isSame = (seen & form) !== 0 || seen === 0 || ((seen & NUMBERS) !== 0 && (form & NUMBERS) !== 0);
    if (!isSame) return `is ${nameOfForm(form)}, and the rows before are ${typeName(this.type())}`;
    if (this.#isText && form === STRUCT) return undefined;
    if (form === FLOAT && this.#inexact !== undefined) return `is not whole, and float64 would round ${this.#inexact} in a row before`;
    if (form === BIG_INTEGER) {
      const wide = value as bigint;
      if (BigInt.asIntN(64, wide) !== wide && (seen & FLOAT) === 0) return `is ${wide}, which no int64 holds`;
      if (!holdsWhole(String(wide))) {
        if ((seen & FLOAT) !== 0) return `is ${wide}, which a float64 would round, and rows before are not whole`;
        this.#inexact = wide;
      }
      if (this.#isSettled && seen === INTEGER) return `is ${wide}, and numbers beyond 2^53 would be rounded`;
    }
    this.#seen |= form;
    if (form === LIST) return this.#addElements(value as readonly unknown[]);
    return form === STRUCT ? this.#addParts(value as Readonly<Record<string, unknown>>) : undefined;
  }

  /** From now on numbers are no more made bigint. */
  settle(): void {
    this.#isSettled = true;
    this.#elements?.settle();
    for (const part of this.#parts?.values() ?? []) part.settle();
  }

  type(): DataType {
    const seen = this.#seen;
    if ((seen & FLOAT) !== 0) return FLOAT64;
    if ((seen & BIG_INTEGER) !== 0) return BIG_INT64;
    if (seen === INTEGER) return INT64;
    if (seen === BOOLEAN) return BOOL;
    if (seen === TEXT) return STRING;
    if (seen === LIST) return { kind: "list", of: this.#elements?.type() ?? NULL, as: "array" };
    if (this.#isText) return STRING;
    if (seen === STRUCT) return { kind: "struct", fields: Array.from(this.#parts ?? [], ([name, part]) => ({ name, type: part.type() })) };
    return NULL;
  }

  /** Whether it is an object, or has one inside, that became a text as it has too many keys. */
  get hasManyKeys(): boolean {
    return this.#isText || this.#elements?.hasManyKeys === true || Array.from(this.#parts?.values() ?? []).some((part) => part.hasManyKeys);
  }

  /** Whether whole numbers beyond 2^53 stand among numbers that are not whole, here or further inside. */
  get hasBigFloats(): boolean {
    if ((this.#seen & (FLOAT | BIG_INTEGER)) === (FLOAT | BIG_INTEGER)) return true;
    return this.#elements?.hasBigFloats === true || Array.from(this.#parts?.values() ?? []).some((part) => part.hasBigFloats);
  }

  #becomeText(): string | undefined {
    if (this.#isSettled) return `has objects with more than ${JSON_SPARSE_KEYS_MAX} different keys`;
    this.#isText = true;
    this.#parts = undefined;
    return undefined;
  }

  #addElements(values: readonly unknown[]): string | undefined {
    const elements = (this.#elements ??= new JsonInference());
    for (const value of values) {
      const problem = elements.add(value);
      if (problem !== undefined) return `does not fit: an element ${problem}`;
    }
    return undefined;
  }

  #addParts(value: Readonly<Record<string, unknown>>): string | undefined {
    const parts = (this.#parts ??= new Map<string, JsonInference>());
    this.#objects += 1;
    for (const name in value) {
      this.#filled += 1;
      let part = parts.get(name);
      if (part === undefined) {
        if (isSparse(parts.size, this.#objects, this.#filled)) return this.#becomeText();
        parts.set(name, (part = new JsonInference()));
      }
      const problem = part.add(value[name]);
      if (problem !== undefined) return `does not fit: its part ${JSON.stringify(name)} ${problem}`;
    }
    return undefined;
  }
}

/** Whether keys are ids: there are many, and few objects have each. */
export function isSparse(keys: number, objects: number, filled: number): boolean {
  return keys >= JSON_SPARSE_KEYS_MAX && filled * SPARSE < objects * keys;
}

const SPARSE = 8;

function formOf(value: unknown): number {
  switch (typeof value) {
    case "number":
      // int64 has no -0.
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? INTEGER : FLOAT;
    case "string":
      return TEXT;
    case "boolean":
      return BOOLEAN;
    case "bigint":
      return BIG_INTEGER;
    default:
      if (value === null || value === undefined) return 0;
      return Array.isArray(value) ? LIST : STRUCT;
  }
}

function nameOfForm(form: number): string {
  if (form === TEXT) return "a string";
  if (form === BOOLEAN) return "a boolean";
  if (form === LIST) return "an array";
  return form === STRUCT ? "an object" : "a number";
}
