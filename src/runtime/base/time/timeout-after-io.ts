/**
 * Limits the wait for a message of another process.
 *
 * After a standstill, a process finds its timers over before it reads its sockets, and would give up on messages that arrived in time. So
 * the limit takes effect one turn of the event loop later, after those messages are read.
 */

/**
 * Calls back after this time and one turn of the event loop, and does not keep the process alive. @returns a function that cancels it at
 * any time
 */
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
