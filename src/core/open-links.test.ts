/**
 * When all that a worker has sent is known to have been read.
 */
import { expect, test } from "vitest";
import type { ProcessId } from "../base/ids.ts";
import { OpenLinks } from "./open-links.ts";

const worker = "worker" as ProcessId;

function link(processId = worker): { processId: ProcessId; isClosed: boolean; closed: Promise<void>; close: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { processId, isClosed: false, closed: promise, close: resolve };
}

/** Whether it has ended once everything that could run has. */
async function hasEnded(links: OpenLinks): Promise<boolean> {
  let ended = false;
  void links.ended(worker).then(() => {
    ended = true;
  });
  await new Promise(setImmediate);
  return ended;
}

test("a process without connections has said everything", async () => {
  const links = new OpenLinks();
  links.opened(link("another" as ProcessId));
  links.opened({ ...link(), isClosed: true });
  expect(await hasEnded(links)).toBe(true);
});

test("one with several has when the last has ended", async () => {
  const links = new OpenLinks();
  const [task, actor] = [link(), link()];
  links.opened(task);
  links.opened(actor);
  task.close();
  expect(await hasEnded(links)).toBe(false);
  actor.close();
  expect(await hasEnded(links)).toBe(true);
});
