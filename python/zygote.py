"""Started by the node daemon as the process from which workers with imports of their own are forked."""

from shoal._zygote import main

main()
