import { expect, test } from "vitest";
import { SpentTime } from "./spent-time.ts";

test("sessions count from the first to the last time that was seen, and pauses between them do not", () => {
  const spent = new SpentTime(100);
  spent.see(1000);
  expect(spent.ms).toBe(100);
  spent.see(1300);
  spent.see(1200);
  expect(spent.ms).toBe(400);
  spent.end();
  spent.see(9000);
  expect(spent.ms).toBe(400);
  spent.see(8000);
  spent.see(9050);
  expect(spent.ms).toBe(450);
});
