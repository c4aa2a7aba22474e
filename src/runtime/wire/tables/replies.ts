/**
 * Answers to requests: the header of the REPLY by the number of the request, and its shape.
 *
 * The sender of a request keeps its number until the REPLY arrives. `request` then checks the header (`runtime/rpc/peer-connection.ts`), so
 * that no caller casts it. A refusal has a `WireErrorHeader` (flag ERROR) for every request. The request explains further parts in the
 * body.
 */
import { clusterDemand, clusterStatus, deathTimes, heartbeatReply, joinTokensReply } from "../cluster/cluster-messages.ts";
import { definition } from "../calls/definition-messages.ts";
import {
  fields,
  flag,
  list,
  nothing,
  number,
  type Of,
  orUndefined,
  problemOf,
  processId,
  record,
  type Shape,
  text,
} from "../header-shape.ts";
import { keyValueReply } from "../cluster/key-value-messages.ts";
import { nodeMetricsAnswer, nodeSeriesAnswer } from "../observing/metric-messages.ts";
import { logListAnswer, logReadAnswer } from "../observing/log-messages.ts";
import { inspectAnswer } from "../observing/inspect-messages.ts";
import { nameOfMessage } from "./message-table.ts";
import {
  actorFound,
  actorInfo,
  environmentDescription,
  groupEntry,
  groupState,
  joined,
  location,
  MESSAGE,
  nodeEntry,
} from "../messages.ts";
import { opened } from "../cluster/open-messages.ts";
import { packageOffered } from "../cluster/package-messages.ts";
import { nodeStateAnswer, openCallsAnswer } from "../observing/state-messages.ts";
import { storeReport } from "../objects/store-messages.ts";
import { objectPlace } from "../objects/transfer-messages.ts";
import { leaseReport, placeReport, why } from "../calls/why-messages.ts";

const numbers = record(number);

export const REPLIES = {
  [MESSAGE.OPEN]: opened,
  [MESSAGE.HELLO]: nothing,
  [MESSAGE.JOIN]: joined,
  [MESSAGE.CERTIFICATE_RENEW]: text,
  [MESSAGE.NODE_REGISTER]: deathTimes,
  [MESSAGE.HEARTBEAT]: orUndefined(heartbeatReply),
  [MESSAGE.HEAD_SILENCE]: number,

  [MESSAGE.FETCH_DEFINITION]: definition,
  [MESSAGE.ENVIRONMENT_FETCH]: environmentDescription,
  [MESSAGE.PACKAGE_OFFER]: packageOffered,
  [MESSAGE.PACKAGE_READ]: nothing,
  [MESSAGE.OBJECT_FETCH]: location,
  [MESSAGE.OBJECT_LOCATE]: list(objectPlace),
  [MESSAGE.PROCESSES_ENDED]: list(processId),

  [MESSAGE.ACTOR_CREATE]: actorFound,
  [MESSAGE.ACTOR_LOOKUP]: actorFound,
  [MESSAGE.ACTOR_LIST]: list(actorInfo),
  [MESSAGE.GROUP_REMOVE]: nothing,
  [MESSAGE.GROUP_WATCH]: groupState,
  [MESSAGE.GROUP_LOOKUP]: orUndefined(groupEntry),
  [MESSAGE.GROUPS]: list(groupEntry),

  [MESSAGE.NODES]: list(nodeEntry),
  [MESSAGE.RESOURCES]: fields({ total: numbers, available: numbers, store: storeReport }),
  [MESSAGE.SHUTDOWN]: nothing,
  [MESSAGE.CLUSTER_STATUS]: clusterStatus,
  [MESSAGE.CLUSTER_DEMAND]: clusterDemand,
  [MESSAGE.DEMAND_VERDICTS]: nothing,
  [MESSAGE.JOIN_TOKENS]: joinTokensReply,
  [MESSAGE.NODE_DRAIN]: text,

  [MESSAGE.NODE_STATE]: nodeStateAnswer,
  [MESSAGE.OPEN_CALLS]: openCallsAnswer,
  [MESSAGE.NODE_METRICS]: nodeMetricsAnswer,
  [MESSAGE.NODE_SERIES]: nodeSeriesAnswer,
  [MESSAGE.LOG_LIST]: logListAnswer,
  [MESSAGE.LOG_READ]: logReadAnswer,
  [MESSAGE.INSPECT]: inspectAnswer,
  [MESSAGE.INSPECT_READ]: nothing,

  [MESSAGE.WHY_LEASE]: leaseReport,
  [MESSAGE.WHY_PLACE]: orUndefined(placeReport),
  [MESSAGE.WHY_REF]: why,
  [MESSAGE.WHY_CALL]: why,

  [MESSAGE.KV_PUT]: flag,
  [MESSAGE.KV_GET]: keyValueReply,
  [MESSAGE.KV_DELETE]: flag,
  [MESSAGE.KV_LIST]: list(text),
};

/** The header of the answer to a request of that number; unknown where the number is not in the table. */
export type ReplyTo<N extends number> = N extends keyof typeof REPLIES ? Of<(typeof REPLIES)[N]> : unknown;

/** Whether a header is one that a request of that number is answered with. Of numbers that the table has not, any is. */
export function isReplyTo<N extends number>(type: N, header: unknown): header is ReplyTo<N> {
  return shapeOf(type)?.(header) ?? true;
}

/** Describes the fault of a header that `isReplyTo` has refused. */
export function problemOfReply(type: number, header: unknown): string {
  return `the answer to ${nameOfMessage(type)} is malformed: ${problemOf(shapeOf(type) ?? nothing, header)}`;
}

function shapeOf(type: number): Shape | undefined {
  return (REPLIES as Readonly<Record<number, Shape>>)[type];
}
