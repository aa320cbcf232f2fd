"""`python -m retrograd run script.py`: see `retrograd.torch.alias.command`."""

import sys

from .torch.alias.command import main

__all__: list[str] = []

sys.exit(main())
