"""`python -m poe`, where the command `poe` is not on the path."""

import sys

from poe.cli import main

sys.exit(main())
