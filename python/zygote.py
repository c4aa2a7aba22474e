"""Started by the node daemon as the process from which workers with imports of their own are forked."""

from shoal._zygote import main

if __name__ == "__main__":
    # Processes that multiprocessing spawns load the main module anew if it has a file: that would be this one.
    del __file__
    main()
