import { expect, test } from "vitest";
import { profileOf, threadsOf } from "./python-inspector.ts";

/** As faulthandler of Python 3.11 and of 3.14 writes it. */
const DUMP = `Thread 0x00007f1 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/app/a b.py", line 7 in <module>

Current thread 0x00007f2 [MainThread] (most recent call first):
  File "/app/job.py", line 3 in inner
  File "/app/job.py", line 9 in outer
  ...
`;

test("a dump has its threads, each with the innermost call first", () => {
  expect(threadsOf(DUMP)).toEqual([
    {
      name: "thread 0x00007f1",
      frames: [
        { function: "wait", file: "/usr/lib/python3.11/threading.py", line: 320 },
        { function: "<module>", file: "/app/a b.py", line: 7 },
      ],
    },
    {
      name: "MainThread",
      frames: [
        { function: "inner", file: "/app/job.py", line: 3 },
        { function: "outer", file: "/app/job.py", line: 9 },
      ],
    },
  ]);
});

test("text that no handler wrote gives no frames", () => {
  expect(threadsOf('  File "/app/job.py", line 3 in inner\nThread x\n\0\n')).toEqual([]);
});

test("a profile counts equal stacks at one node, below their thread", () => {
  const profile = profileOf(threadsOf(DUMP + DUMP), 80) as {
    nodes: { id: number; callFrame: { functionName: string; lineNumber: number }; hitCount: number; children: number[] }[];
    samples: number[];
    timeDeltas: number[];
    endTime: number;
  };
  const inner = profile.nodes.find(({ callFrame }) => callFrame.functionName === "inner");
  expect(inner).toMatchObject({ hitCount: 2, children: [], callFrame: { lineNumber: 2 } });
  expect(profile.samples).toHaveLength(4);
  expect(profile.samples.filter((id) => id === inner?.id)).toHaveLength(2);
  expect(profile.timeDeltas.reduce((sum, delta) => sum + delta, 0)).toBe(profile.endTime);
  const outer = profile.nodes.find(({ children }) => inner !== undefined && children.includes(inner.id));
  expect(outer?.callFrame.functionName).toBe("outer");
});
