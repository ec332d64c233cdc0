"""The command ``rarefy``, which the package brings with it: ``python -m rarefy relax``."""

import sys
from typing import NoReturn

from ._rarefy import command


def main() -> NoReturn:
    """Runs the command with the arguments of the process, and ends it."""
    command(["rarefy", *sys.argv[1:]])


if __name__ == "__main__":
    main()
