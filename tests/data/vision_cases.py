"""Models, transforms and data sets of pictures, alike with torchvision and `retrograd.vision`.

`torch` and `vision` are the two libraries, or this package and its module.
"""

from __future__ import annotations

import hashlib

import numpy as np

MODELS = (
    *("resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d"),
    *(
        "resnext101_32x8d",
        "resnext101_64x4d",
        "wide_resnet50_2",
        "wide_resnet101_2",
        "vgg11",
        "vgg13",
        "vgg16",
        "vgg19",
        "vgg11_bn",
        "vgg13_bn",
        "vgg16_bn",
    ),
    *("vgg19_bn", "mobilenet_v2", "densenet121", "densenet161", "densenet169", "densenet201"),
)
# Models whose weights and outputs are compared, from a seed.
RUN = {
    "resnet18": {"zero_init_residual": True},
    "resnet50": {"replace_stride_with_dilation": (False, True, True)},
    "resnext50_32x4d": {},
    "mobilenet_v2": {"width_mult": 0.5},
    "densenet121": {"drop_rate": 0.5},
}
CROPS = (
    {"size": 3},
    {"size": 5, "padding": 2},
    {"size": (6, 4), "padding": (1, 2, 3, 0), "padding_mode": "reflect"},
    {"size": (4, 8), "padding": (1, 2), "padding_mode": "symmetric"},
    {"size": 9, "pad_if_needed": True, "fill": 1},
    {"size": 4, "padding": 3, "padding_mode": "edge"},
)


def state_of(model):
    """[parameters, tensors of parameters, digest of the state's names and shapes in order]."""
    lines = "".join(f"{k} {tuple(v.shape)}\n" for k, v in model.state_dict().items())
    parameters = list(model.parameters())
    digest = hashlib.sha256(lines.encode()).hexdigest()
    return [sum(p.numel() for p in parameters), len(parameters), digest]


def outputs(torch, vision, name):
    """What a model from seed 0 gives for pictures, once it has seen them in training mode."""
    torch.manual_seed(0)
    model = getattr(vision.models, name)(num_classes=10, **RUN[name]).double()
    x = torch.linspace(-1, 1, 2 * 3 * 64 * 64, dtype=torch.float64).reshape(2, 3, 64, 64).sin()
    model.train()
    if name != "densenet121":  # which drops at random
        model(x)
    return model.eval()(x).detach().flatten().tolist()


def weights_of(known):
    """[member or what it stands for, file, settings of its transform] of an enum of weights."""
    found = []
    for name, member in known.__members__.items():
        prepare = member.transforms()
        sizes = [*prepare.crop_size, *prepare.resize_size, prepare.interpolation.value]
        found.append([name, str(member), member.url, *sizes, *prepare.mean, *prepare.std])
    return found


def pictures(torch, image):
    """A picture of Pillow's, its bytes and numbers as tensors."""
    array = (np.arange(5 * 7 * 3) * 37 % 256).astype(np.uint8).reshape(5, 7, 3)
    bytes_ = torch.from_numpy(array.transpose(2, 0, 1).copy())
    return {"picture": image.fromarray(array), "bytes": bytes_, "numbers": bytes_.float() / 255}


def transforms(T):
    """Transforms by name, those that draw numbers last."""
    found = {}
    for size in (3, (4, 9), [8], (5, 7)):
        for mode in ("NEAREST", "BILINEAR", "BICUBIC"):
            found[f"Resize({size}, {mode})"] = T.Resize(size, getattr(T.InterpolationMode, mode))
    found["Resize(4, max_size=5)"] = T.Resize(4, max_size=5)
    for size in (3, (4, 4), (8, 6), (8, 9)):
        found[f"CenterCrop({size})"] = T.CenterCrop(size)
    for settings in CROPS:
        found[f"RandomCrop({settings})"] = T.RandomCrop(**settings)
    found["RandomHorizontalFlip"] = T.RandomHorizontalFlip()
    found["Pad"] = T.Pad((1, 2), 1)
    found["RandomResizedCrop"] = T.RandomResizedCrop((4, 5))
    found["RandomResizedCrop of strips"] = T.RandomResizedCrop(4, (0.9, 1.0), (3.0, 4.0))
    return found


def transformed(torch, vision, image, name, kind):
    """[shape, elements] of three pictures that a transform gives from seed 3."""
    transform = transforms(vision.transforms)[name]
    img = pictures(torch, image)[kind]
    torch.manual_seed(3)
    found = [transform(img) for _ in range(3)]
    found = [x if isinstance(x, torch.Tensor) else vision.transforms.ToTensor()(x) for x in found]
    return [[list(x.shape), round_all(x)] for x in (found if "Random" in name else found[:1])]


def fake(vision):
    """[target, first elements] of pictures of noise."""
    data = vision.datasets.FakeData(3, (3, 6, 6), transform=vision.transforms.ToTensor())
    return [[int(data[i][1]), round_all(data[i][0].flatten()[:9])] for i in range(3)]


def round_all(x):
    """The elements as numbers of few digits."""
    return [round(value, 5) for value in x.double().flatten().tolist()]
