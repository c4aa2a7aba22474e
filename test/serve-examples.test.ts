/** Runs the examples of Serve as a user would, and checks their output. */
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

test("serve-rag: the passage that fits reaches the model, and without one nobody is asked", async () => {
  const run = await runProgram(["examples/serve-rag.ts"]);
  expect(run.stderr).toBe("");
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toContain("'The warranty of a bicycle lasts five years, and two years for its battery.\\n' +");
  expect(run.stdout).toContain("{ answer: 'I do not know.', sources: [] }");
  expect(run.stdout).not.toContain("Ghent");
});

test("serve-ab-test: each user keeps the model that the share has given", async () => {
  const run = await runProgram(["examples/serve-ab-test.ts"]);
  expect(run.stderr).toBe("");
  expect(run.exitCode).toBe(0);
  expect(run.stdout).toBe("100 of 1000 users got the new model\n0 got another one the second time\n");
});
