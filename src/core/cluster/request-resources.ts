/**
 * `requestResources`: asks the autoscaler for a cluster that could hold given bundles, before any work waits.
 *
 * The request is a value of the head, so it outlives the program. The autoscaler reads it, and a cluster without one keeps it unread.
 */
import { messageOf } from "../../runtime/base/texts/describe.ts";
import { KeyValuesFullError } from "../../runtime/base/errors.ts";
import { type KeyValuePutHeader, RESOURCE_REQUEST } from "../../runtime/wire/cluster/key-value-messages.ts";
import { MESSAGE } from "../../runtime/wire/messages.ts";
import { isWireError } from "../../runtime/wire/wire-error.ts";
import { askNode } from "../current-runtime.ts";
import { resolveResourceRequest } from "../options/group-options.ts";
import type { ResourceRequest } from "../options/scheduling-types.ts";

/**
 * Asks the autoscaler to keep so many nodes that all bundles would fit at once, used or not. The nodes stay until the next request;
 * `requestResources({ bundles: [] })` takes it back. Without an autoscaler it changes nothing.
 *
 * @throws TypeError, RangeError for a request that cannot be taken
 * @throws KeyValuesFullError when the head has no room for it
 * @throws NodeDiedError if the node ends before the answer
 * @example
 * await requestResources({ numCpus: 64 });
 * await requestResources({ bundles: [{ GPU: 1 }, { GPU: 1 }] });
 */
export async function requestResources(request: ResourceRequest): Promise<void> {
  const bundles = resolveResourceRequest(request);
  const header: KeyValuePutHeader = { ...RESOURCE_REQUEST, form: "json", overwrite: true };
  try {
    await askNode(MESSAGE.KV_PUT, header, { parts: [new TextEncoder().encode(JSON.stringify(bundles))], timeoutMs: 0 });
  } catch (error) {
    if (!isWireError(error, "keyValuesFull")) throw error;
    const reason = messageOf(error);
    throw new KeyValuesFullError(`Cannot request resources: ${reason}`, { reason, hint: "Delete values with kvDelete." });
  }
}
