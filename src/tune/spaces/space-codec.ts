/**
 * Spaces, and options that hold domains, in JSON and back.
 *
 * A domain becomes an object with a mark. Functions and objects of classes have no form in JSON: they leave another mark, and the record is
 * incomplete.
 */
import { isPlainObject } from "../../core/internal.ts";
import { choice, type DomainData, gridSearch, isDomain, type SearchSpace, toDomain } from "./space.ts";
import type { JsonValue } from "../trials/trial.ts";

const DOMAIN = "$domain";
const FOREIGN = "$foreign";

/** Encodes a space in JSON. @returns `isWhole: false` if it holds values that JSON cannot represent */
export function encodeSpace(space: SearchSpace): { readonly encoded: JsonValue; readonly isWhole: boolean } {
  let isWhole = true;
  const encode = (value: unknown): JsonValue => {
    if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
    if (isDomain(value)) {
      if (value.kind === "sampleFrom") isWhole = false;
      if (value.kind === "choice") return { [DOMAIN]: { kind: "choice", options: value.options.map(encode) } };
      if (value.kind === "grid") return { [DOMAIN]: { kind: "grid", values: value.values.map(encode) } };
      return { [DOMAIN]: value.kind === "sampleFrom" ? { kind: "sampleFrom" } : { ...value } };
    }
    if (Array.isArray(value)) return value.map(encode);
    if (isPlainObject(value) && !Object.hasOwn(value, DOMAIN) && !Object.hasOwn(value, FOREIGN))
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, encode(part)]));
    isWhole = false;
    return { [FOREIGN]: true };
  };
  return { encoded: encode(space), isWhole };
}

/** The space that was encoded whole. */
export function decodeSpace(encoded: JsonValue): SearchSpace {
  const decode = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(decode);
    if (!isPlainObject(value)) return value;
    if (!Object.hasOwn(value, DOMAIN)) return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, decode(part)]));
    const data = value[DOMAIN] as { kind: string; options?: unknown[]; values?: unknown[] };
    if (data.kind === "choice") return choice((data.options ?? []).map(decode));
    if (data.kind === "grid") return gridSearch((data.values ?? []).map(decode));
    return toDomain(data as DomainData);
  };
  return decode(encoded) as SearchSpace;
}
