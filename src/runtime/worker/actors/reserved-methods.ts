/** Methods that every actor has without writing them. Each name begins with a byte that no method's name has. */

/** The last call, after those that its caller made before. */
export const TERMINATE_METHOD = "\u0000terminate";

/** Makes the actor part of a compiled graph, until the graph ends. */
export const GRAPH_METHOD = "\u0000graph";

export function isReservedMethod(name: string): boolean {
  return name === TERMINATE_METHOD || name === GRAPH_METHOD;
}
