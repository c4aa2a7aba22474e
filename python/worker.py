"""Started by the node daemon as the program of a Python worker."""

from shoal._worker import main

main()
