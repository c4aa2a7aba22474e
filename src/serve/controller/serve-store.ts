/**
 * What of Serve is kept in the cluster's store, where the next controller finds it: the options of `serve.start`, each application, and the code of its deployments.
 *
 * Code lies in pieces under its version, apart from the applications: it is large and never changes.
 */
import { kvDelete, kvGet, kvList, kvPut } from "../../core/index.ts";
import { CODE_PIECE_BYTES } from "../limits.ts";
import { SERVE_NAMESPACE } from "../routing/controller-messages.ts";
import type { ApplicationRecord } from "./serve-state.ts";

const IN_SERVE = { namespace: SERVE_NAMESPACE };
const APP = "app/";
const CODE = "code/";
const OPTIONS = "options";

export async function saveOptions(options: object): Promise<void> {
  await kvPut(OPTIONS, options, IN_SERVE);
}

export async function loadOptions<T>(): Promise<T | undefined> {
  return await kvGet<T>(OPTIONS, IN_SERVE);
}

export async function saveApplication(record: ApplicationRecord): Promise<void> {
  await kvPut(APP + record.target.name, record, IN_SERVE);
}

export async function forgetApplication(name: string): Promise<void> {
  await kvDelete(APP + name, IN_SERVE);
}

export async function loadApplications(): Promise<ApplicationRecord[]> {
  const keys = await kvList(APP, IN_SERVE);
  const records = await Promise.all(keys.map((key) => kvGet<ApplicationRecord>(key, IN_SERVE)));
  return records.filter((record) => record !== undefined);
}

/** The number of pieces is told last: code that is there is there as a whole. */
export async function saveCode(version: string, code: Uint8Array): Promise<void> {
  const count = Math.ceil(code.byteLength / CODE_PIECE_BYTES);
  const pieces = Array.from({ length: count }, (_, index) => code.slice(index * CODE_PIECE_BYTES, (index + 1) * CODE_PIECE_BYTES));
  await Promise.all(pieces.map((piece, index) => kvPut(`${CODE}${version}/${index}`, piece, IN_SERVE)));
  await kvPut(`${CODE}${version}`, count, IN_SERVE);
}

export async function loadCode(version: string): Promise<Uint8Array | undefined> {
  const count = await kvGet<number>(`${CODE}${version}`, IN_SERVE);
  if (count === undefined) return undefined;
  const pieces = await Promise.all(Array.from({ length: count }, (_, index) => kvGet<Uint8Array>(`${CODE}${version}/${index}`, IN_SERVE)));
  return pieces.includes(undefined) ? undefined : Buffer.concat(pieces as Uint8Array[]);
}

/** Forgets the code of versions that nothing needs. */
export async function forgetCodeExcept(versions: ReadonlySet<string>): Promise<void> {
  const keys = await kvList(CODE, IN_SERVE);
  await Promise.all(
    keys.filter((key) => !versions.has((key.slice(CODE.length).split("/") as [string])[0])).map((key) => kvDelete(key, IN_SERVE)),
  );
}

export async function forgetEverything(): Promise<void> {
  const keys = await kvList("", IN_SERVE);
  await Promise.all(keys.map((key) => kvDelete(key, IN_SERVE)));
}
