"""A worker whose daemon does not say that it may run stands still, with all its threads.

Run by ``test/integration/python-values.test.ts``, or by hand: ``python3 -m unittest discover -s python/tests -t python``.
"""

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from shoal._execution_lease import ExecutionLease
from shoal._pump import Pump

#: What another process does, as no thread of this one can.
WRITE = "import struct, sys; open(sys.argv[1], 'r+b').write(struct.pack('<d', float(sys.argv[2])))"
#: When nothing has changed in a third file for a while. Prints whether that came to be.
WRITE_WHEN_STILL = """
import time
def read():
    with open(sys.argv[3], "rb") as file:
        return file.read()
end = time.monotonic() + 20
changed, last = time.monotonic(), read()
while time.monotonic() < min(end, changed + 0.5):
    time.sleep(0.02)
    if read() != last:
        changed, last = time.monotonic(), read()
print(time.monotonic() < end)
"""


class ExecutionLeaseTest(unittest.TestCase):
    def setUp(self):
        descriptor, self.path = tempfile.mkstemp()
        os.close(descriptor)
        self.addCleanup(os.remove, self.path)
        self.now_ms = 1000.0
        self.ended = []

    def allow(self, until_ms):
        with open(self.path, "r+b") as file:
            file.write(struct.pack("<d", until_ms))

    def worker(self):
        return ExecutionLease(self.path, self.ended.append, lambda: self.now_ms)

    def write_elsewhere(self, until_ms, program=WRITE, *files):
        return subprocess.Popen([sys.executable, "-c", program, self.path, str(until_ms), *files], stdout=subprocess.PIPE, text=True)

    def test_runs_without_an_end_before_the_daemon_has_named_one(self):
        self.allow(float("inf"))
        worker = self.worker()
        self.now_ms = 1e12
        worker.check()
        self.assertEqual(self.ended, [])

    def test_looks_again_when_the_time_that_it_knows_is_over(self):
        self.allow(2000)
        worker = self.worker()
        self.allow(60000)
        self.now_ms = 30000
        worker.check()
        self.now_ms = 60499
        worker.check()
        self.assertEqual(self.ended, [])

    def test_stands_still_with_all_its_threads_until_the_daemon_has_been_answered(self):
        self.allow(0)
        worker = self.worker()
        descriptor, diary = tempfile.mkstemp()
        self.addCleanup(os.remove, diary)
        os.ftruncate(descriptor, 16)
        counts = memoryview(mmap.mmap(descriptor, 16)).cast("Q")
        os.close(descriptor)
        is_over = threading.Event()

        def live():
            while not is_over.is_set():
                counts[0] += 1
                time.sleep(0.001)

        def compute():
            while not is_over.is_set():
                counts[1] += 1

        for body in (live, compute):
            thread = threading.Thread(target=body, daemon=True)
            self.addCleanup(thread.join)
            thread.start()
        self.addCleanup(is_over.set)
        with self.write_elsewhere(60000, "import struct, sys" + WRITE_WHEN_STILL + WRITE, diary) as other:
            worker.check()
            self.assertEqual(other.communicate()[0], "True\n")
        still = counts[0]
        while counts[0] == still:
            time.sleep(0.001)
        self.assertEqual(self.ended, [])

    def test_ends_when_that_takes_too_long(self):
        self.allow(0)
        worker = self.worker()
        times = iter([1000.0, 1000.0, 31001.0, 31001.0])
        worker._now_ms = lambda: next(times)
        with self.write_elsewhere(100):
            worker.check()
        self.assertEqual(len(self.ended), 1)

    def test_a_loop_looks_by_itself_when_the_time_is_over(self):
        self.allow(1200)
        worker = self.worker()
        begin = time.monotonic()
        worker._now_ms = lambda: 1000 + (time.monotonic() - begin) * 1000
        pump = Pump()
        worker.watch(pump)
        self.allow(float("inf"))
        looked = []
        worker.check = lambda: looked.append(time.monotonic() - begin)
        while not looked:
            pump.turn(None)
        self.assertGreaterEqual(looked[0], 0.69)

    def test_a_loop_looks_before_it_handles_what_has_come(self):
        pump = Pump()
        handled = []
        read, write = os.pipe()
        pump.add_reader(read, lambda: handled.append(os.read(read, 1)))
        os.write(write, b"x")
        pump.await_execution_lease = lambda: handled.append("looked")
        pump.turn(0)
        self.assertEqual(handled, ["looked", b"x"])


if __name__ == "__main__":
    unittest.main()
