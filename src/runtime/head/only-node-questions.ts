/**
 * Answers questions about all nodes for a machine with one node.
 *
 * The counterpart of `nodes/head-server.ts`. The `shoal` commands ask only clusters, so this answers only the questions of programs.
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
