"""Started by the node daemon as the program of a Python worker."""

import os
import sys

# In a separate folder, so that this file hides no module of the user with the same name.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from shoal._worker import main  # noqa: E402

if __name__ == "__main__":
    # Processes that multiprocessing spawns load the main module anew if it has a file: that would be this one.
    del __file__
    main()
