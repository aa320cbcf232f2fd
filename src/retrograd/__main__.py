"""`python -m retrograd run script.py`: see `retrograd.torch.alias.command`."""

import sys

from . import providers

__all__: list[str] = []

sys.exit(providers.service("command").main())
