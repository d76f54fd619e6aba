"""`python -m judging`, where the command `poe` is not on the path."""

import sys

from judging.cli import main

if __name__ == "__main__":
    sys.exit(main())
