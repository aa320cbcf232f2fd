"""Files of weights by PyTorch's older names: see `retrograd.hub`."""

from ..hub import load_state_dict_from_url
from ..hub.progress import tqdm

__all__ = ["load_url", "tqdm"]

load_url = load_state_dict_from_url
