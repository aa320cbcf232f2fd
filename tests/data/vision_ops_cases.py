"""Calls of `torchvision.ops`, alike with `retrograd.vision.ops`: values and gradients.

`torch` and `vision` are the two libraries, or this package and its module.
"""

from __future__ import annotations

import numpy as np


def numbers(torch, *shape, start=0.0):
    """Numbers from 0 to 1 that look random."""
    count = int(np.prod(shape))
    return torch.from_numpy(((np.arange(count) * 0.618034 + start) % 1).reshape(shape))


def boxes(torch, count, scale=6.0, start=0.0):
    """Boxes (count, 4) with corners up to 2 * scale."""
    corners = numbers(torch, count, 4, start=start) * scale
    return torch.cat([corners[:, :2], corners[:, :2] + corners[:, 2:] + 0.3], 1)


def rois(torch, outside=False):
    """Boxes (K, 5) of two pictures, some beyond their borders."""
    found = boxes(torch, 5) - (2.5 if outside else 0.0)
    picture = torch.from_numpy(np.array([[0.0], [1.0], [0.0], [1.0], [1.0]]))
    return torch.cat([picture, found], 1)


def of_maps(name, channels=3, outside=False, size=(2, 3), **settings):
    """Regions of maps, with gradients for the maps."""

    def case(torch, ops):
        maps = numbers(torch, 2, channels, 9, 7)
        return (
            lambda x: getattr(ops, name)(x, rois(torch, outside), size, **settings),
            (maps,),
            {},
        )

    return case


def bent(groups=1, offsets=1, masked=False, **settings):
    """A bent convolution, with gradients for all inputs."""

    def case(torch, ops):
        x = numbers(torch, 2, 4, 6, 5)
        weight = numbers(torch, 4, 4 // groups, 3, 2, start=0.2) - 0.5
        plain = torch.nn.functional.conv2d(x, weight, groups=groups, **settings)
        size = plain.shape[2:]
        offset = numbers(torch, 2, offsets * 12, *size, start=0.1) * 4 - 2
        inputs = [x, offset, weight, numbers(torch, 4)]
        if masked:
            inputs.append(numbers(torch, 2, offsets * 6, *size, start=0.3))
            return (
                lambda x, o, w, b, m: ops.deform_conv2d(x, o, w, b, mask=m, **settings),
                inputs,
                {},
            )
        return ops.deform_conv2d, inputs, settings

    return case


CASES = {
    "roi_align": of_maps("roi_align"),
    "roi_align aligned": of_maps("roi_align", aligned=True),
    "roi_align outside": of_maps("roi_align", outside=True, spatial_scale=0.7),
    "roi_align of 3 samples": of_maps("roi_align", outside=True, sampling_ratio=3, aligned=True),
    "roi_pool": of_maps("roi_pool"),
    "roi_pool outside": of_maps("roi_pool", outside=True, spatial_scale=0.7),
    "ps_roi_align": of_maps("ps_roi_align", channels=12),
    "ps_roi_align outside": of_maps("ps_roi_align", channels=12, outside=True, sampling_ratio=2),
    # torchvision's gradient is not the derivative where a bin touches the last row or column
    "ps_roi_pool": of_maps("ps_roi_pool", channels=12),
    "ps_roi_pool outside": of_maps("ps_roi_pool", 12, True, spatial_scale=0.7),
    "deform_conv2d": bent(),
    "deform_conv2d in groups": bent(2, 2, masked=True),
    "deform_conv2d with strides": bent(4, 1, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
}


def result(torch, vision, name):
    """[shape, values, gradients of a weighted sum for each input that has one] of a case."""
    function, inputs, settings = CASES[name](torch, vision.ops)
    inputs = [x.clone().requires_grad_() if isinstance(x, torch.Tensor) else x for x in inputs]
    out = function(*inputs, **settings)
    weights = numbers(torch, *out.shape, start=0.8) + 0.5
    (out * weights).sum().backward()
    grads = [x.grad for x in inputs if isinstance(x, torch.Tensor)]
    return [
        list(out.shape),
        rounded(out.detach()),
        [rounded(g) for g in grads],
    ]


def rounded(x):
    """The elements as numbers of nine digits."""
    return [float(f"{value:.9g}") for value in x.double().flatten().tolist()]


def chosen(torch, vision):
    """Indices that the choosing functions give."""
    ops, found = vision.ops, {}
    many = torch.cat([boxes(torch, 30, 10.0), boxes(torch, 10, 10.0, start=0.01)])
    scores = numbers(torch, 40, start=0.25)
    for threshold in (0.1, 0.3, 0.6):
        found[f"nms {threshold}"] = ops.nms(many, scores, threshold).tolist()
    found["equal scores"] = ops.nms(many, scores * 0, 0.1).tolist()
    return found
