/**
 * Answers to the question how far a link was read.
 */
import { expect, test } from "vitest";
import type { ProcessId } from "../../base/ids.ts";
import { ReadLinks } from "./read-links.ts";

const caller = "caller" as ProcessId;
const other = "other" as ProcessId;

function opened(links: ReadLinks, sender: ProcessId, number: number): { heldRead: number; close: () => Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const link = {
    heldRead: 0,
    closed: promise,
    close: async (): Promise<void> => {
      resolve();
      await promise;
    },
  };
  links.opened(sender, number, link);
  return link;
}

test("it is told once the link has ended, to each who asks", async () => {
  const links = new ReadLinks();
  const link = opened(links, caller, 1);
  const asked = links.readOver(caller, 1);
  link.heldRead = 3;
  await link.close();
  expect(await asked).toBe(3);
  expect(await links.readOver(caller, 1)).toBe(3);
});

test("links of two senders with one number are two", async () => {
  const links = new ReadLinks();
  const [ones, others] = [opened(links, caller, 1), opened(links, other, 1)];
  ones.heldRead = 1;
  others.heldRead = 2;
  await Promise.all([ones.close(), others.close()]);
  expect([await links.readOver(caller, 1), await links.readOver(other, 1)]).toEqual([1, 2]);
});

test("nothing was read over one that was never made, or over which nothing with holds came", async () => {
  const links = new ReadLinks();
  await opened(links, caller, 1).close();
  expect([await links.readOver(caller, 1), await links.readOver(caller, 7)]).toEqual([0, 0]);
});

test("of one that is long forgotten all counts as read, and none of a later one that nothing came over", async () => {
  const links = new ReadLinks();
  for (let number = 1; number <= 1100; number += 1) {
    const link = opened(links, caller, number);
    link.heldRead = 5;
    await link.close();
  }
  await opened(links, caller, 1101).close();
  expect(await links.readOver(caller, 1)).toBe(Number.MAX_SAFE_INTEGER);
  expect([await links.readOver(caller, 1100), await links.readOver(caller, 1101), await links.readOver(other, 1)]).toEqual([5, 0, 0]);
});
