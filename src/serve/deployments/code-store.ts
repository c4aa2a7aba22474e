/**
 * Code of users in the cluster's store: that of deployments under their versions, that of policies and routers under their hashes.
 *
 * The code is kept in pieces, apart from the applications: code is large and never changes. The controller writes it. The controller and processes that route requests read it.
 */
import { kvDelete, kvGet, kvList, kvPut } from "../../core/index.ts";
import { CODE_PIECE_BYTES } from "../limits.ts";
import { SERVE_NAMESPACE } from "../names.ts";

const IN_SERVE = { namespace: SERVE_NAMESPACE };
const CODE = "code/";

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
