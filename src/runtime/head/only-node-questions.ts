/**
 * What is asked of the head as the one that knows all nodes, where there is one node.
 *
 * The counterpart of `nodes/head-server.ts`. The commands of `shoal` ask clusters alone, so only what programs ask is answered.
 */
import { RESOURCE_UNIT } from "../base/resources.ts";
import type { HeadPeer, NodeServices } from "../rpc/head-service.ts";
import type { Message } from "../rpc/peer-connection.ts";
import type { Handlers } from "../wire/message-table.ts";
import { MESSAGE } from "../wire/messages.ts";
import type { MessagesToCluster } from "../wire/messages-to-head.ts";

export function onlyNodeQuestions(
  node: NodeServices,
): Pick<Handlers<MessagesToCluster, [peer: HeadPeer, message: Message]>, typeof MESSAGE.NODES | typeof MESSAGE.RESOURCES> {
  return {
    [MESSAGE.NODES]: (_nothing, { connection }, { callId }) => connection.reply(callId, [node.info]),
    [MESSAGE.RESOURCES]: ({ store }, { connection }, { callId }) => {
      const { total, free } = node.view();
      connection.reply(callId, { total: amountsOf(total), available: amountsOf(free), store });
    },
  };
}

function amountsOf(units: Iterable<readonly [name: string, units: number]>): Record<string, number> {
  return Object.fromEntries(Array.from(units, ([name, amount]) => [name, amount / RESOURCE_UNIT]));
}
