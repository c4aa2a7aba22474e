/**
 * When all that a worker has sent is known to have been read.
 */
import { expect, test } from "vitest";
import type { ProcessId } from "../../../runtime/base/ids.ts";
import { OpenLinks } from "./open-links.ts";

const worker = "worker" as ProcessId;

interface TestLink {
  processId: ProcessId;
  number: number;
  isFinished: boolean;
  closed: Promise<void>;
  heldRead: number;
  close: () => void;
  forgetFunction: () => void;
  addRest: () => void;
  workerExited: () => void;
}

function link(processId = worker, number = 1): TestLink {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    processId,
    number,
    isFinished: false,
    closed: promise,
    heldRead: 0,
    close: resolve,
    forgetFunction: () => {},
    addRest: () => {},
    workerExited: () => {},
  };
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
  links.opened({ ...link(), isFinished: true });
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

test("what was read over a link is known once it has ended, also to who asks later", async () => {
  const links = new OpenLinks();
  const [first, second] = [link(worker, links.newNumber()), link(worker, links.newNumber())];
  links.opened(first);
  links.opened(second);
  const asked = links.readOver(worker, first.number);
  first.heldRead = 3;
  first.close();
  expect(await asked).toBe(3);
  second.heldRead = 2;
  second.close();
  await second.closed;
  expect(await links.readOver(worker, second.number)).toBe(2);
});

test("a link that brought nothing with holds, or was never made, has read nothing", async () => {
  const links = new OpenLinks();
  const only = link(worker, links.newNumber());
  links.opened(only);
  only.close();
  await only.closed;
  expect(await links.readOver(worker, only.number)).toBe(0);
  expect(await links.readOver(worker, 7)).toBe(0);
});
