/** Runs the examples of Serve as a user would, and looks at what they print. */
import { expect, test } from "vitest";
import { runProgram } from "./house/run-program.ts";

test("serve-rest: notes are made, listed, removed", async () => {
  const run = await runProgram(["examples/serve-rest.ts"]);
  expect(run.stderr).toBe("");
  expect(run.exitCode).toBe(0);
  expect(run.stdout.split("\n")).toEqual([
    'POST /notes 201 {"id":1,"text":"buy milk"}',
    'POST /notes 201 {"id":2,"text":"water the plants"}',
    'GET /notes 200 [{"id":1,"text":"buy milk"},{"id":2,"text":"water the plants"}]',
    "DELETE /notes/1 204 ",
    'GET /notes/1 404 {"error":"no such note"}',
    'POST /notes 400 {"error":"a text is needed"}',
    "",
  ]);
});

test("serve-chat: an answer comes word by word", async () => {
  const run = await runProgram(["examples/serve-chat.ts"]);
  expect(run.stderr).toBe("");
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toBe(
    ['"You"', '" said:"', '" how"', '" are"', '" you"'].map((word) => `data: ${word}\n\n`).join("") + "event: end\ndata:\n\n",
  );
});
