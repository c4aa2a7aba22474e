"""Found as a dotted module of the working directory."""

import nowhere_to_be_found  # noqa: F401
