/** Tests addresses: an end inside this process, and invalid ones. */
import { expect, test } from "vitest";
import { connect, listen, newInProcessAddress } from "./endpoint.ts";

test("reaches who listens in this process, and nobody at the address of a process that has gone", async () => {
  const address = newInProcessAddress();
  let knocks = 0;
  const listener = await listen(address, () => (knocks += 1));
  await connect(address);
  expect(knocks).toBe(1);
  listener.close();
  await expect(connect(address)).rejects.toThrow("nobody listens");
  // To the system it would be a port of this machine.
  await expect(connect("")).rejects.toThrow("the process has ended");
});
