"""Started by the node daemon as the program of a Python worker."""

from shoal._worker import main

if __name__ == "__main__":
    # Processes that multiprocessing spawns load the main module anew if it has a file: that would be this one.
    del __file__
    main()
