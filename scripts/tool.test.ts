/** The command lines of the repository's tools, and what `runTool` makes from them. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OptionError, runTool, wholeNumber } from "./tool.ts";

const OPTIONS = { rounds: { type: "string", default: "3" }, quick: { type: "boolean", default: false } } as const;

let printed: string[] = [];
const argv = process.argv;

beforeEach(() => {
  printed = [];
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, "write").mockImplementation((text) => {
      printed.push(String(text));
      return true;
    });
});
afterEach(() => {
  vi.restoreAllMocks();
  process.argv = argv;
});

function tool(args: string[], run: (rounds: number) => number): Promise<number> {
  process.argv = ["node", "tool", ...args];
  const text = { command: "npm run tool", usage: "Usage: npm run tool" };
  return runTool({ ...text, options: OPTIONS, run: ({ rounds }) => run(wholeNumber("rounds", rounds, { min: 1, max: 9 })) });
}

describe("a tool", () => {
  test("gets its options, and its exit code is what it returns", async () => {
    expect(await tool(["--rounds", "7"], (rounds) => rounds)).toBe(7);
    expect(await tool([], (rounds) => rounds)).toBe(3);
  });

  test("prints its usage when it is asked, whatever else there is", async () => {
    expect(await tool(["--nonsense", "--help"], () => 9)).toBe(0);
    expect(printed).toEqual(["Usage: npm run tool"]);
  });

  test.each([
    [["--nonsense"], "Unknown option '--nonsense'"],
    [["--rounds", "x"], 'Cannot use --rounds: a whole number from 1 to 9 is needed: received "x"'],
    [["--rounds", "0"], 'received "0"'],
    [["--rounds", "10"], 'received "10"'],
    [["--rounds", ""], 'received ""'],
    [["--rounds", "1.5"], 'received "1.5"'],
  ])("says in one line what is wrong with %j, and how to get help", async (args, text) => {
    expect(await tool(args, () => 0)).toBe(2);
    expect(printed.join("")).toContain(text);
    expect(printed.join("")).toMatch(/\nTry npm run tool -- --help\n$/);
  });

  test("takes words where it has names for them, and no others", async () => {
    const run = vi.fn<(values: unknown, words: readonly string[]) => number>(() => 0);
    const parts = { command: "npm run tool", usage: "", options: OPTIONS, words: ["head", "tasks"], run };
    process.argv = ["node", "tool", "tasks", "--quick"];
    expect(await runTool(parts)).toBe(0);
    expect(run).toHaveBeenCalledWith({ rounds: "3", quick: true }, ["tasks"]);
    process.argv = ["node", "tool", "heads"];
    expect(await runTool(parts)).toBe(2);
    expect(printed.join("")).toContain('Cannot run "heads": there are head, tasks');
    expect(await tool(["head"], () => 0)).toBe(2);
    expect(printed.join("")).toContain("Unexpected argument 'head'");
  });

  test("does not hide its own defects", async () => {
    const defect = new RangeError("a defect");
    await expect(
      tool([], () => {
        throw defect;
      }),
    ).rejects.toBe(defect);
  });

  test("numbers without a largest are named by their smallest", () => {
    expect(() => wholeNumber("seeds", "-1", { min: 1 })).toThrow(
      new OptionError('Cannot use --seeds: a whole number from 1 on is needed: received "-1"'),
    );
  });
});
