/** Checks the arguments that `readSql` and `writeSql` share. */
import { describeValue } from "../../core/internal.ts";

/** @throws TypeError for no statement, and for no function that makes connections */
export function checkSql(method: string, sql: unknown, connect: unknown): void {
  if (typeof sql !== "string" || sql.trim() === "")
    throw new TypeError(`Cannot call ${method}: it takes a statement of SQL: received ${describeValue(sql)}`);
  if (typeof connect !== "function")
    throw new TypeError(`Cannot call ${method}: it takes a function that makes a connection: received ${describeValue(connect)}`);
}
