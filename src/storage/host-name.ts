/** The name of this machine, for names of files that several machines write into one folder. */
import { hostname } from "node:os";

export function hostName(): string {
  return hostname();
}
