/**
 * Gives an object members by definition. An assignment fails for names like `bind` where a program has frozen the intrinsics, as the
 * prototype's member is read-only then.
 */
export function defineMembers<Target extends object, Members extends object>(target: Target, members: Members): Target & Members {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
  return target as Target & Members;
}
