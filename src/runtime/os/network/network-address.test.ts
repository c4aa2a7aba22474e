/** Tests which network addresses are read, written back and refused, and which stay on the machine. */
import { expect, test } from "vitest";
import { formatNetworkAddress, isLoopbackHost, parseNetworkAddress } from "./network-address.ts";

test("reads names, IPv4 and IPv6, and writes them as they were", () => {
  for (const address of ["tcp://10.0.0.7:6379", "tcp://head.example.org:1", "tcp://[fd00::7]:65535", "tcp://0.0.0.0:0"]) {
    expect(formatNetworkAddress(parseNetworkAddress(address))).toBe(address);
  }
  expect(parseNetworkAddress("tcp://[::1]:80")).toEqual({ host: "::1", port: 80 });
  expect(formatNetworkAddress({ host: "fd00::7", port: 7000 })).toBe("tcp://[fd00::7]:7000");
});

test.each(["", "10.0.0.7:6379", "tcp://10.0.0.7", "tcp://fd00::7:80", "tcp://[10.0.0.7]:80", "tcp://a:65536", "tcp://a:80/x", "tcp://:80"])(
  "refuses %j by name",
  (address) => {
    expect(() => parseNetworkAddress(address)).toThrow(RangeError);
    expect(() => parseNetworkAddress(address)).toThrow(`received ${JSON.stringify(address)}`);
  },
);

test("counts as loopback only what cannot leave the machine", () => {
  expect(["localhost", "127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"].filter((host) => !isLoopbackHost(host))).toEqual([]);
  expect(["127.0.0.1.example.org", "10.0.0.1", "0.0.0.0", "::", "localhost.example.org", "128.0.0.1", ""].filter(isLoopbackHost)).toEqual(
    [],
  );
});
