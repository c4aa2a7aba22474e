/**
 * State machines under test: `checkInvariants()` runs after each event.
 */
interface Machine {
  checkInvariants(): void;
}

/** Returns the machine behind a proxy that checks its invariants after each call of a method. */
export function checked<M extends Machine>(machine: M): M {
  return new Proxy(machine, {
    get: (target, name): unknown => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "checkInvariants") return member;
      return (...args: unknown[]): unknown => {
        const result: unknown = Reflect.apply(member, target, args);
        target.checkInvariants();
        return result;
      };
    },
  });
}
