"""It has the name of a module of the standard library, and hides none."""
