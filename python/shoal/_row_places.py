"""Where the rows of a task came from, in words and as data, for errors of steps: as far as the blocks' tasks knew it.

The words are those of ``src/data/blocks/memory/origin.ts``. Rows are counted from 1.
"""


class RowPlaces:
    """The rows of several blocks, one behind the other."""

    def __init__(self, blocks):
        """``blocks``: of each the number of rows, and its origin or None."""
        self._blocks = blocks

    def place_of(self, start, end):
        """The text and the details of the rows from ``start`` to ``end - 1`` among all, of which there is one at least."""
        parts = []
        first = 0
        for rows, origin in self._blocks:
            if start < first + rows and end > first:
                parts.append((max(start - first, 0), min(end - first, rows), rows, origin))
            first += rows
        if any(origin is None for _, _, _, origin in parts):
            if len(parts) == 1:
                low, high, rows, _ = parts[0]
                return "%s of the %d in its block" % (_rows(low + 1, high), rows), {"rowInBlock": low + 1}
            return "%s of the %d in its blocks" % (_rows(start + 1, end), first), {}
        files = {}
        for low, high, _, origin in parts:
            known = (origin["firstRow"] + low, origin["firstRow"] + high - 1) if origin["isExact"] else (origin["firstRow"], origin["lastRow"])
            before = files.get(origin["file"], known)
            files[origin["file"]] = (min(before[0], known[0]), max(before[1], known[1]))
        text = " and ".join("%s of %s" % (_rows(*span), file) for file, span in files.items())
        file, span = next(iter(files.items()))
        return text, {"file": file, "firstRow": span[0], "lastRow": span[1]}


def _rows(first, last):
    return "row %d" % first if first == last else "rows %d to %d" % (first, last)
