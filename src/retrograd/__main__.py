"""`python -m retrograd run script.py`: see `retrograd.alias.command`."""

import sys

from .alias.command import main

__all__: list[str] = []

sys.exit(main())
