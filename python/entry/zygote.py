"""Started by the node daemon as the process from which workers with imports of their own are forked."""

import os
import sys

# In a separate folder, so that this file hides no module of the user with the same name.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from shoal._zygote import main  # noqa: E402

if __name__ == "__main__":
    # Processes that multiprocessing spawns load the main module anew if it has a file: that would be this one.
    del __file__
    main()
