/**
 * Wakes a process that sleeps in its event loop: a named pipe into which others write a byte.
 *
 * Carries no information besides that something has happened; shared memory has the details. Both sides open the pipe for reading and
 * writing, so that opening never waits and the end of one side does not affect the other. Measured: a ring and the answer take 28 us, and
 * 17 us of processor time on each side, so a process that expects something soon polls first.
 */
import { closeSync, constants, openSync, writeSync } from "node:fs";
import net from "node:net";

/** Rings another process. */
export interface Doorbell {
  ring(): void;
  close(): void;
}

/** The doorbell of this process. */
export interface DoorbellListener {
  /** Whether the hope for a ring alone keeps the process from exiting; it does not at first. */
  setKeepsProcessAlive(keeps: boolean): void;
  close(): void;
}

const BYTE = Uint8Array.of(1);

export function openDoorbell(path: string): Doorbell {
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  let isOpen = true;
  return {
    ring: () => {
      if (!isOpen) return;
      try {
        writeSync(fd, BYTE);
      } catch (error) {
        // A full pipe has rung already.
        if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      }
    },
    close: () => {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

export function listenDoorbell(path: string, onRing: () => void): DoorbellListener {
  const socket = new net.Socket({ fd: openSync(path, constants.O_RDWR | constants.O_NONBLOCK), readable: true, writable: false });
  socket.on("data", onRing);
  // The pipe has this process as a writer, so it neither ends nor breaks; an error would otherwise end the process.
  socket.on("error", () => {});
  socket.unref();
  return {
    setKeepsProcessAlive: (keeps) => {
      if (keeps) socket.ref();
      else socket.unref();
    },
    close: () => socket.destroy(),
  };
}
