"""The command `judging`, and `python -m judging` where that is not on the path."""

import os
import sys


def main() -> int:
    """Run the command; Ctrl-C while it is still being loaded is no reason for a traceback."""
    for name in ("stdout", "stderr"):  # closed by who called us
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        from judging.practice.cli import main as run
    except KeyboardInterrupt:
        return 128 + 2
    return run()


if __name__ == "__main__":
    sys.exit(main())
