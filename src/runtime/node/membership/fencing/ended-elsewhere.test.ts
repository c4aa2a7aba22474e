/** The questions about processes after a change of the head, and the accepted answers. */
import { expect, test } from "vitest";
import { nodeTagOf, type NodeTag, type ProcessId } from "../../../base/ids.ts";
import { EndedElsewhere } from "./ended-elsewhere.ts";

function processOf(node: number, number: number): ProcessId {
  return `${String(node).repeat(16)}${String(number).repeat(16)}` as ProcessId;
}

const HERE = processOf(1, 0);
const [A, B] = [processOf(2, 1), processOf(2, 2)];
const C = processOf(3, 1);

function asking(answers: Record<NodeTag, readonly ProcessId[]>): {
  run: () => Promise<void>;
  asked: [NodeTag, ...ProcessId[]][];
  ended: ProcessId[];
} {
  const asked: [NodeTag, ...ProcessId[]][] = [];
  const ended: ProcessId[] = [];
  const elsewhere = new EndedElsewhere({
    nodeTag: nodeTagOf(HERE),
    known: () => [A, HERE, C, B, A],
    ask: async (node, processes) => {
      asked.push([node, ...processes]);
      const answer = answers[node];
      if (answer === undefined) throw new Error("its node is gone");
      return answer;
    },
    onEnded: (process) => ended.push(process),
  });
  const run = async (): Promise<void> => {
    elsewhere.ask();
    await new Promise(setImmediate);
  };
  return { run, asked, ended };
}

test("each other node is asked once, about its own processes", async () => {
  const { run, asked, ended } = asking({ [nodeTagOf(A)]: [B], [nodeTagOf(C)]: [] });
  await run();
  expect(asked).toEqual([
    [nodeTagOf(A), A, B],
    [nodeTagOf(C), C],
  ]);
  expect(ended).toEqual([B]);
});

test("a node says nothing of processes that it was not asked about, and one that is dead nothing at all", async () => {
  const { run, ended } = asking({ [nodeTagOf(C)]: [A, HERE, C] });
  await run();
  expect(ended).toEqual([C]);
});
