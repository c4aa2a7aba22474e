/**
 * A limit on the wait for something that another process says.
 *
 * A process that stood still for long finds its timers over before it reads what lies in its sockets: it would give up on what came in time. So the limit takes effect a turn
 * of the event loop later, in which all that had come by then is read.
 */

/** Calls back after so long and a turn of the event loop, and does not keep the process alive for it. @returns what takes it back, at any time */
export function timeoutAfterIo(ms: number, callback: () => void): () => void {
  let isTakenBack = false;
  const timer = setTimeout(() => {
    setImmediate(() => {
      if (!isTakenBack) callback();
    });
  }, ms).unref();
  return () => {
    isTakenBack = true;
    clearTimeout(timer);
  };
}
