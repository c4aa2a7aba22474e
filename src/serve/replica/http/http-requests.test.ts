import { expect, test } from "vitest";
import type { ServedStream } from "../../wire/request-server.ts";
import { respondToError } from "./http-requests.ts";

test("an error with a status below 500 is an answer, and no failure for the log", () => {
  const logged: unknown[] = [];
  const statuses: number[] = [];
  const stream = {
    head: { requestId: "r" },
    respond: ({ status }: { status: number }) => void statuses.push(status),
  } as unknown as ServedStream;
  const failures = { ongoing: () => 0, showsErrors: false, onError: (error: unknown) => void logged.push(error) };
  const errors = [404, 429, 500, 503].map((status) => Object.assign(new Error("on purpose"), { status }));
  for (const error of [...errors, new Error("a fault")]) respondToError(error, stream, failures);
  expect(statuses).toEqual([404, 429, 500, 503, 500]);
  expect(logged).toEqual([errors[2], errors[3], expect.objectContaining({ message: "a fault" })]);
});
