"""The file of programs and of what PyTorch made of them: a compressed list in JSON.

An entry is [seed, watched, program, outcome]; outcomes are those of `interpreter`.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

PATH = Path(__file__).parents[1] / "data/fuzz/corpus.xz"


def read():
    """All entries."""
    return json.loads(lzma.decompress(PATH.read_bytes()))


def write(entries):
    """Put these in place of all entries."""
    text = json.dumps(entries, separators=(",", ":"))
    PATH.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
