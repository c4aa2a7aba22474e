"""Imported by the file beside it."""

VALUE = "beside"
