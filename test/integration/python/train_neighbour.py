"""Imported by a loop whose rank already works in its own folder."""

WORD = "found"
