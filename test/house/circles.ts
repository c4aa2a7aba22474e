/**
 * Finds circles of imports. Pure: a graph in, paths out, so that it is tested on made-up graphs.
 *
 * Any import counts, of types alone as well: files that know each other's types can only be read and changed together.
 */

/** By file, the files that it imports. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** For each file the shortest circle that it is part of, as the path that leads back to it; each circle once, the shortest first. */
export function importCircles(graph: ImportGraph): string[] {
  const found = new Map<string, readonly string[]>();
  for (const file of graph.keys()) {
    const circle = shortestCircle(graph, file);
    const key = circle?.toSorted().join(" ");
    if (circle !== undefined && key !== undefined && !found.has(key)) found.set(key, [...circle, file]);
  }
  return Array.from(found.values())
    .sort((left, right) => left.length - right.length)
    .map((circle) => circle.join(" → "));
}

/** The files on the shortest way from a file back to itself, breadth first; undefined where there is none. */
function shortestCircle(graph: ImportGraph, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const next of graph.get(file) ?? []) {
      if (next === start) return wayTo(file, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way: string[] = [];
  for (let file: string | undefined = end; file !== undefined; file = cameFrom.get(file)) way.unshift(file);
  return way;
}
