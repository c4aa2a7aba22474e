/** Tests how join tokens are parsed, and that refusals give a reason without the secret. */
import { expect, test } from "vitest";
import { formatJoinToken, parseJoinToken } from "./join-token.ts";

const authorityHash = "ab".repeat(32);
const secret = "12".repeat(32);
const whole = formatJoinToken({ authorityHash, secret });

test("reads what it writes, with the white space of a copied line", () => {
  expect(parseJoinToken(`  ${whole}\n`)).toEqual({ authorityHash, secret });
});

test.each([
  ["", "it is empty"],
  [secret, "does not begin with SHOAL1-"],
  [whole.replace("SHOAL1", "SHOAL2"), "of version 2"],
  [whole.slice(0, -1), "should have 136 characters: received 135"],
  [whole.replace("12", "1z"), "other than hex digits"],
])("refuses %#, naming the reason and not the secret", (text, reason) => {
  const error = (() => {
    try {
      return parseJoinToken(text);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toBeInstanceOf(RangeError);
  expect((error as Error).message).toContain(reason);
  expect((error as Error).message).not.toContain("1212");
});
