/**
 * What is asked of the head as the one that knows all nodes, where there is one node.
 *
 * The counterpart of `nodes/head-server.ts`. The commands of `shoal` ask clusters alone, so only what programs ask is answered.
 */
import { amountsOf } from "../base/resources.ts";
import type { HeadHandlers, NodeServices } from "../rpc/head-service.ts";
import { MESSAGE } from "../wire/messages.ts";

export function onlyNodeQuestions(node: NodeServices): HeadHandlers<typeof MESSAGE.NODES | typeof MESSAGE.RESOURCES> {
  return {
    [MESSAGE.NODES]: (_nothing, { connection }, { callId }) => connection.reply(callId, [{ ...node.info, draining: false }]),
    [MESSAGE.RESOURCES]: ({ store }, { connection }, { callId }) => {
      const { total, free } = node.view();
      connection.reply(callId, { total: amountsOf(total), available: amountsOf(free), store });
    },
  };
}
