/** A graph as the text of a Mermaid flowchart, for `visualize()`: a box for each node, an arrow for each value that flows. */
import { type NodeState, nodesOf } from "./node-state.ts";

export function mermaidOf(root: NodeState): string {
  const nodes = nodesOf(root);
  const idOf = new Map(nodes.map((node, index) => [node, `n${index}`]));
  const lines = ["flowchart TD"];
  for (const node of nodes) lines.push(`  ${idOf.get(node)}${boxOf(node)}`);
  for (const node of nodes) for (const dependency of node.dependencies) lines.push(`  ${idOf.get(dependency)} --> ${idOf.get(node)}`);
  return `${lines.join("\n")}\n`;
}

function boxOf(node: NodeState): string {
  switch (node.kind) {
    case "input":
      return '(["input"])';
    case "attribute":
      return `(["${quoted(`at ${JSON.stringify(node.key)}`)}"])`;
    case "call":
      return `["${quoted(node.binding.name)}"]`;
    case "actor":
      return `[["${quoted(node.binding.name)}"]]`;
    case "actorCall":
      return `["${quoted(node.name)}"]`;
    case "outputs":
      return '(["outputs"])';
  }
}

/** Names of functions can hold anything; Mermaid writes a quote as an entity. */
function quoted(text: string): string {
  return text.replaceAll("#", "#35;").replaceAll('"', "#quot;").replaceAll("\n", " ");
}
