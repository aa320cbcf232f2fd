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


def pair_of_boxes(name, count=(4, 3), **settings):
    """Overlaps or losses of boxes, with gradients for both."""

    def case(torch, ops):
        a, b = boxes(torch, count[0]), boxes(torch, count[1], start=0.37)
        return getattr(ops, name), (a, b), settings

    return case


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


def focal(**settings):
    """Losses of scores, with gradients for them."""

    def case(torch, ops):
        targets = (numbers(torch, 3, 4, start=0.5) > 0.5).double()
        return (
            lambda x: ops.sigmoid_focal_loss(x, targets, **settings),
            (numbers(torch, 3, 4) * 6 - 3,),
            {},
        )

    return case


def plain(name, *args, **settings):
    """A function of boxes without a second tensor."""

    def case(torch, ops):
        return getattr(ops, name), (boxes(torch, 4) - 1, *args), settings

    return case


def pyramid(torch, ops):
    """Maps of a pyramid, and regions of them."""
    torch.manual_seed(0)
    extra = ops.feature_pyramid_network.LastLevelP6P7(4, 4)
    net = ops.FeaturePyramidNetwork([3, 5, 4], 4, extra).double()
    pool = ops.MultiScaleRoIAlign(["a", "b", "c"], 2, 2, canonical_scale=16)
    maps = [numbers(torch, 1, 3, 16, 16), numbers(torch, 1, 5, 8, 8), numbers(torch, 1, 4, 4, 4)]

    def run(*maps):
        out = net(dict(zip("abc", maps, strict=True)))
        regions = pool(out, [boxes(torch, 6, 24.0)], [(64, 64)])
        return torch.cat([regions.flatten(), *(x.flatten() for x in out.values())])

    return run, maps, {}


def dropped(name, shape, *args):
    """What is random, from seed 0, with gradients."""

    def case(torch, ops):
        torch.manual_seed(0)
        return getattr(ops, name), (numbers(torch, *shape) + 1, *args), {}

    return case


CASES = {
    "box_iou": pair_of_boxes("box_iou"),
    "box_iou of xywh": pair_of_boxes("box_iou", fmt="xywh"),
    "box_iou of cxcywh": pair_of_boxes("box_iou", fmt="cxcywh"),
    "generalized_box_iou": pair_of_boxes("generalized_box_iou"),
    "distance_box_iou": pair_of_boxes("distance_box_iou"),
    "complete_box_iou": pair_of_boxes("complete_box_iou"),
    "generalized_box_iou_loss": pair_of_boxes("generalized_box_iou_loss", (4, 4)),
    "distance_box_iou_loss": pair_of_boxes("distance_box_iou_loss", (4, 4), reduction="sum"),
    "complete_box_iou_loss": pair_of_boxes("complete_box_iou_loss", (4, 4), reduction="mean"),
    "sigmoid_focal_loss": focal(),
    "sigmoid_focal_loss of gamma 1.5": focal(alpha=-1, gamma=1.5, reduction="mean"),
    "box_area": plain("box_area"),
    "box_area of xywh": plain("box_area", "xywh"),
    "clip_boxes_to_image": plain("clip_boxes_to_image", (4, 5)),
    **{
        f"box_convert {a} {b}": plain("box_convert", a, b)
        for a in ("xyxy", "xywh", "cxcywh")
        for b in ("xyxy", "xywh", "cxcywh")
    },
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
    "pyramid": pyramid,
    "stochastic_depth by rows": dropped("stochastic_depth", (6, 2), 0.4, "row"),
    "stochastic_depth of a batch": dropped("stochastic_depth", (6, 2), 0.4, "batch"),
    "drop_block2d": dropped("drop_block2d", (2, 3, 7, 6), 0.3, 3),
    "drop_block3d": dropped("drop_block3d", (1, 2, 5, 6, 4), 0.3, 3),
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
    kinds = torch.from_numpy(np.arange(40) % 3)
    for threshold in (0.1, 0.3, 0.6):
        found[f"nms {threshold}"] = ops.nms(many, scores, threshold).tolist()
        kept = ops.batched_nms(many, scores, kinds, threshold)
        found[f"batched_nms {threshold}"] = kept.tolist()
    found["equal scores"] = ops.nms(many, scores * 0, 0.1).tolist()
    found["remove_small_boxes"] = ops.remove_small_boxes(many, 4.0).tolist()
    masks = numbers(torch, 3, 6, 7) > 0.93
    found["masks_to_boxes"] = ops.masks_to_boxes(masks).tolist()
    return found
