"""Errors of a checkpoint's readers, and those of them that tell of its removal.

Run by ``test/integration/runs.test.ts``, or by hand: ``PYTHONPATH=python python3 python/tests/test_checkpoint.py``.
"""

import errno
import os
import shutil
import tempfile
import unittest
from unittest import mock

from shoal._checkpoint import Checkpoint
from shoal.errors import RunError


class RemovedCheckpointTest(unittest.TestCase):
    def setUp(self):
        self.path = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.path, ignore_errors=True)
        open(os.path.join(self.path, ".checkpoint.json"), "w").close()

    def opened_with(self, error):
        """The error that comes of a reader that fails after the checkpoint is removed."""
        with self.assertRaises(Exception) as raised:
            with Checkpoint(self.path).as_directory():
                shutil.rmtree(self.path)
                raise error
        return raised.exception

    def test_missing_files_of_one_that_was_removed(self):
        for error in [FileNotFoundError(errno.ENOENT, "none"), shutil.Error([("a", "b", "none")])]:
            raised = self.opened_with(error)
            self.assertIsInstance(raised, RunError)
            self.assertIs(raised.__cause__, error)
            self.setUp()

    def test_other_errors_of_the_system_stay_what_they_are(self):
        for error in [TimeoutError("slow"), ConnectionError("cut"), OSError(errno.ENOSPC, "full")]:
            self.assertIs(self.opened_with(error), error)
            self.setUp()

    def test_a_missing_file_where_nothing_was_removed(self):
        missing = FileNotFoundError(errno.ENOENT, "none")
        with self.assertRaises(FileNotFoundError) as raised, Checkpoint(self.path).as_directory():
            raise missing
        self.assertIs(raised.exception, missing)

    def test_a_disk_that_cannot_tell_has_removed_nothing(self):
        missing = FileNotFoundError(errno.ENOENT, "none")
        with self.assertRaises(OSError) as raised, Checkpoint(self.path).as_directory(), mock.patch("os.stat", side_effect=OSError(errno.ESTALE, "stale")):
            raise missing
        self.assertIs(raised.exception, missing)

    def test_a_copy_of_one_that_was_removed_before_its_files_were_listed(self):
        with mock.patch("shutil.copytree", side_effect=lambda *_, **__: shutil.rmtree(self.path)):
            with self.assertRaisesRegex(RunError, "removed meanwhile, as numToKeep"):
                Checkpoint(self.path).to_directory()

    def test_what_is_left_of_one_whose_removal_has_begun(self):
        os.rename(os.path.join(self.path, ".checkpoint.json"), os.path.join(self.path, ".checkpoint.removed"))
        for read in [Checkpoint(self.path).to_directory, Checkpoint(self.path).as_directory().__enter__]:
            with self.assertRaisesRegex(RunError, "removed meanwhile, as numToKeep"):
                read()


if __name__ == "__main__":
    unittest.main()
