"""What programs ask of `torch.storage`."""

import retrograd as rg
from retrograd.torch import storage


def test_each_dtype_names_its_storage():
    names = storage._dtype_to_storage_type_map()
    assert names[rg.float32] == "FloatStorage"
    assert all(getattr(rg, name).dtype is dtype for dtype, name in names.items())
