/**
 * The headers of questions about values that programs keep by name at the head; the numbers are in `messages.ts`.
 *
 * These questions go from a process to the head like all others. A value is the body of the question or the answer.
 */
import { exactly, fields, flag, type Of, orUndefined, text } from "../header-shape.ts";

/** Bytes as they are, or JSON text. */
const form = exactly("bytes", "json");
export type KeyValueForm = Of<typeof form>;

/** The place of the last `requestResources`: a list of bundles as JSON. `kvPut` and its siblings refuse namespaces that begin so. */
export const RESOURCE_REQUEST: { readonly namespace: string; readonly key: string } = { namespace: "shoal:resources", key: "requested" };

const name = { namespace: text, key: text };
export const keyValueName = fields(name);
export type KeyValueNameHeader = Of<typeof keyValueName>;

/** A question for a value; without `withValue` only whether it exists. */
export const keyValueGet = fields({ ...name, withValue: flag });
export type KeyValueGetHeader = Of<typeof keyValueGet>;

/** Answered with whether it was put. */
export const keyValuePut = fields({ ...name, form, overwrite: flag });
export type KeyValuePutHeader = Of<typeof keyValuePut>;

/** Answers a question for a value with its form; undefined if it does not exist. */
export const keyValueReply = orUndefined(form);
export type KeyValueReply = Of<typeof keyValueReply>;

/** Answered with the keys. */
export const keyValueList = fields({ namespace: text, prefix: text });
export type KeyValueListHeader = Of<typeof keyValueList>;
