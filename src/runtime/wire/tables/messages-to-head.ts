/**
 * Messages of processes to the head: the header of each, and its shape.
 *
 * Two borders check them: the daemon of the process, before it passes a message on, and the head, which ends the link of a node that sends anything else. Both use this
 * table, so no program can have its node's link ended.
 */
import { demandVerdicts, joinTokens, nodeDrain } from "../cluster/cluster-messages.ts";
import { definition } from "../calls/definition-messages.ts";
import { extensionHeader } from "../calls/extension-messages.ts";
import { count, environmentKey, fields, flag, leaseSpec, nothing, optional, orUndefined, text, unchecked } from "../header-shape.ts";
import { keyValueGet, keyValueList, keyValueName, keyValuePut } from "../cluster/key-value-messages.ts";
import type { HeadersOf } from "./message-table.ts";
import { actorCreate, anyActor, environment, group, MESSAGE, payload, waits } from "../messages.ts";

const named = fields({ name: text, namespace: text });

export const MESSAGES_TO_HEAD = {
  /** A function or class. The daemon's holds of captured refs come before it. Body: the definition. */
  [MESSAGE.DEFINE]: definition,
  /**
   * Asks for a definition by its id. Answered once it is known, with the definition in the body. The asking process registers its own holds
   * of the references in the answer.
   */
  [MESSAGE.FETCH_DEFINITION]: text,
  /** Describes an environment key that later shapes use. Only in a cluster does the daemon pass it on to the head. */
  [MESSAGE.ENVIRONMENT]: environment,
  /** From a daemon: asks for the description of this key, and is answered once ENVIRONMENT has given it. */
  [MESSAGE.ENVIRONMENT_FETCH]: environmentKey,
  /** Creates an actor; answered with the one that has the name, which with `getIfExists` may be another. Body: the payloads. */
  [MESSAGE.ACTOR_CREATE]: actorCreate,
  /** Asks for the actor of that name. */
  [MESSAGE.ACTOR_LOOKUP]: named,
  /** Asks for the actor's state, now and after each change (ACTOR_STATE). */
  [MESSAGE.ACTOR_WATCH]: anyActor,
  /** Ends the actor; with `restart` it may be restarted. */
  [MESSAGE.ACTOR_KILL]: fields({ actorId: anyActor, restart: flag }),
  /** Asks for all actors, or those of one namespace. */
  [MESSAGE.ACTOR_LIST]: fields({ includeDead: flag, namespace: orUndefined(text), detail: optional(flag) }),
  /** From the actor's process: the constructor has returned. */
  [MESSAGE.ACTOR_STARTED]: fields({ actorId: anyActor, incarnation: count }),
  /** From the actor's process: the constructor has thrown. Body: the error. */
  [MESSAGE.ACTOR_START_FAILED]: fields({ actorId: anyActor, incarnation: count, error: payload }),
  /** Waits of tasks and actors that have lasted for a second, and the numbers of those that have ended. `for`: the awaited calls. */
  [MESSAGE.WAITS]: waits,
  /** Asks for all nodes. */
  [MESSAGE.NODES]: nothing,
  /** The same question from a process to its daemon, which adds the store's state. */
  [MESSAGE.RESOURCES]: fields({ store: unchecked<unknown>() }),
  /** Asks for the nodes with their total and free resources, the nodes that have gone, and the demands that wait for room. */
  [MESSAGE.CLUSTER_STATUS]: nothing,
  /** From the autoscaler: asks for the nodes with their idle times, and for the demand that waits for nodes. */
  [MESSAGE.CLUSTER_DEMAND]: nothing,
  /** From the autoscaler: verdicts on waiting shapes and placement groups, for CLUSTER_STATUS and WHY_PLACE. */
  [MESSAGE.DEMAND_VERDICTS]: demandVerdicts,
  /** Makes, revokes or lists join tokens. */
  [MESSAGE.JOIN_TOKENS]: joinTokens,
  /**
   * Drains a node, named by the first digits of the id. Answered with the whole id once the node takes nothing new. The node leaves when
   * its work has ended, and announces that by the event `left`.
   */
  [MESSAGE.NODE_DRAIN]: nodeDrain,
  /**
   * Asks which nodes could hold such a demand, or an actor, and how much of the needed resources is free there. Answered with nothing for
   * an unknown actor.
   */
  [MESSAGE.WHY_PLACE]: fields({ shape: orUndefined(leaseSpec), actor: orUndefined(anyActor) }),
  /** Asks for all placement groups. */
  [MESSAGE.GROUPS]: nothing,
  /** Creates a placement group. */
  [MESSAGE.GROUP_CREATE]: group,
  /** Removes the placement group of that id; answered once its tasks and actors have been ended. */
  [MESSAGE.GROUP_REMOVE]: text,
  /** Asks for the state of the placement group of that id; answered once it is no longer pending. */
  [MESSAGE.GROUP_WATCH]: text,
  /** Asks for the placement group of that name; answered with nothing if there is none. */
  [MESSAGE.GROUP_LOOKUP]: named,
  /**
   * Stores a value by name. Answered with whether it was put: without `overwrite` an existing value stays. A question repeated to another
   * head gets the same answer. Body: the value.
   */
  [MESSAGE.KV_PUT]: keyValuePut,
  /** Answered with the form of the value, and with `withValue` with the value in the body; with nothing where there is no value. */
  [MESSAGE.KV_GET]: keyValueGet,
  /** Answered with whether there was a value. */
  [MESSAGE.KV_DELETE]: keyValueName,
  /** Answered with the keys that begin with the prefix, sorted. */
  [MESSAGE.KV_LIST]: keyValueList,
  /** A message of an extension of the head, which has a shape for the header and for the answer, if it is a request. A node's daemon may send one, too. */
  [MESSAGE.EXTENSION]: extensionHeader,
};
export type MessagesToHead = HeadersOf<typeof MESSAGES_TO_HEAD>;

/** Questions to a cluster's head, which knows all nodes; the head of one machine is not asked. */
export type MessagesToCluster = Pick<
  MessagesToHead,
  | typeof MESSAGE.NODES
  | typeof MESSAGE.RESOURCES
  | typeof MESSAGE.NODE_DRAIN
  | typeof MESSAGE.CLUSTER_STATUS
  | typeof MESSAGE.CLUSTER_DEMAND
  | typeof MESSAGE.DEMAND_VERDICTS
  | typeof MESSAGE.WHY_PLACE
  | typeof MESSAGE.JOIN_TOKENS
>;
