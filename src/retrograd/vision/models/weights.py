"""Weights of models from files, and models by name: nothing is downloaded.

NOTE [Pretrained weights]
1. `weights` is a member of the model's enum, the name of one ("DEFAULT"), or the path of a
   checkpoint of torchvision's names, in any format that `load` reads.
2. A member stands for the file that torchvision downloads, in the folder where PyTorch keeps such
   files: `$TORCH_HOME/hub/checkpoints`, by default in `~/.cache/torch`. Put it there.
3. `pretrained=True` stands for the first member.
4. A member's `transforms()` prepare pictures as its training did. Its `meta` lacks torchvision's
   names of the categories.
"""

from __future__ import annotations

import enum
import fnmatch
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...hub import get_dir
from ...serialization import load
from ..transforms.presets import ImageClassification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from ...nn import Module
    from ..transforms.functional import InterpolationMode

__all__ = [
    "Weights",
    "WeightsEnum",
    "builder",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "imagenet",
    "list_models",
]

SERVER = "https://download.pytorch.org/models/"
CATEGORIES = 1000
BUILDERS: dict[str, Any] = {}


class Weights(NamedTuple):
    """Where a checkpoint comes from, how its pictures are prepared, and what is known of it."""

    url: str
    transforms: Callable[[], Any]
    meta: dict[str, Any]


class WeightsEnum(enum.Enum):
    """The checkpoints of a model that torchvision has: NOTE [Pretrained weights]."""

    @classmethod
    def names(cls, text: str) -> bool:
        """Whether a text is the name of a member, with or without the class."""
        return text.removeprefix(f"{cls.__name__}.") in cls.__members__

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """The member that an object is or, with or without the class, names; None for None.

        Raises TypeError for a member of another model, KeyError for a name that is not known.
        """
        if isinstance(obj, str):
            return cls[obj.removeprefix(f"{cls.__name__}.")]
        if obj is not None and not isinstance(obj, cls):
            raise TypeError(
                f"Invalid Weight class provided; expected {cls.__name__} but received "
                f"{type(obj).__name__}"
            )
        return obj

    @property
    def url(self) -> str:
        """Where torchvision downloads the file."""
        return self.value.url

    @property
    def transforms(self) -> Callable[[], Any]:
        """What makes the transform of pictures."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """What is known of the training."""
        return self.value.meta

    def get_state_dict(self, progress: bool = True, check_hash: bool = False) -> dict[str, Any]:
        """The tensors in the file; raises FileNotFoundError where there is none."""
        return read(kept(self.url), str(self), self.url)

    def __repr__(self) -> str:
        return str(self)


def imagenet(
    name: str,
    resize: int = 256,
    crop: int = 224,
    interpolation: InterpolationMode | None = None,
    **settings: Any,
) -> Weights:
    """A file of a classifier of ImageNet's 1,000 categories, whose pictures have those sizes."""
    sizes: dict[str, Any] = {"crop_size": crop, "resize_size": resize}
    if interpolation is not None:
        sizes["interpolation"] = interpolation
    prepare = functools.partial(ImageClassification, **sizes, **settings)
    return Weights(SERVER + name, prepare, {})


def kept(url: str) -> Path:
    """Where PyTorch keeps the file that it has downloaded from a place."""
    return Path(get_dir()) / "checkpoints" / url.rpartition("/")[2]


def read(path: Path, name: str, url: str = "") -> dict[str, Any]:
    """The tensors in a file; raises FileNotFoundError where there is none."""
    if not path.exists():
        source = f"Put {url} there, or write" if url else "Write"
        raise FileNotFoundError(
            f"{name}: there is no file {str(path)!r}, and no weights are downloaded. {source} "
            "weights='path/of/a/checkpoint.pth'"
        )
    return load(path, map_location="cpu", weights_only=True)


def builder(
    known: type[WeightsEnum], old: Callable[[str], str] = str, **loaded: Any
) -> Callable[[Callable[..., Any]], Any]:
    """Make a function that builds a model take `weights`, and known to `get_model` by its name.

    `loaded` are its settings where weights are read; `old` gives the name of a parameter by the
    one that older files have.
    """

    def enter(make: Callable[..., Any]) -> Any:
        name = make.__name__

        @functools.wraps(make)
        def build(
            pretrained: bool = False, *, weights: Any = None, progress: bool = True, **settings: Any
        ) -> Module:
            weights = next(iter(known)) if pretrained and weights is None else weights
            if isinstance(weights, (str, os.PathLike)) and not known.names(str(weights)):
                state = read(Path(weights), name)
            elif (member := known.verify(weights)) is not None:
                classes = settings.setdefault("num_classes", CATEGORIES)
                if classes != CATEGORIES:
                    raise ValueError(
                        f"The parameter 'num_classes' expected value {CATEGORIES} but got "
                        f"{classes} instead. Write num_classes={CATEGORIES}, and replace the "
                        "last layer afterwards"
                    )
                state = member.get_state_dict()
            else:
                return make(**settings)
            model = make(**{**loaded, **settings})
            model.load_state_dict({old(key): value for key, value in state.items()})
            return model

        build.known = known  # type: ignore[attr-defined]
        BUILDERS[name] = build
        return build

    return enter


def list_models(
    module: ModuleType | None = None,
    include: Iterable[str] | str | None = None,
    exclude: Iterable[str] | str | None = None,
) -> list[str]:
    """The names of models, of `module` and like the patterns `include` and not `exclude`.

    >>> rg.vision.models.list_models(include="resnet*", exclude="*[05]*")
    ['resnet18', 'resnet34']
    """

    def like(name: str, patterns: Iterable[str] | str) -> bool:
        patterns = [patterns] if isinstance(patterns, str) else patterns
        return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)

    return sorted(
        name
        for name, build in BUILDERS.items()
        if (module is None or build.__module__.rpartition(".")[0] == module.__name__)
        and (not include or like(name, include))
        and not (exclude and like(name, exclude))
    )


def get_model_builder(name: str) -> Callable[..., Any]:
    """The function that builds a model by its name; raises ValueError for other names.

    >>> rg.vision.models.get_model_builder("resnet18") is rg.vision.models.resnet18
    True
    """
    if name.lower() not in BUILDERS:
        raise ValueError(f"Unknown model {name}. Names are: models.list_models()")
    return BUILDERS[name.lower()]


def get_model(name: str, **config: Any) -> Any:
    """The model of that name, with settings.

    >>> rg.vision.models.get_model("mobilenet_v2", num_classes=10).classifier[1].out_features
    10
    """
    return get_model_builder(name)(**config)


def get_model_weights(name: Callable[..., Any] | str) -> type[WeightsEnum]:
    """The enum of a model's checkpoints, by its name or by what builds it.

    >>> rg.vision.models.get_model_weights("resnet18")
    <enum 'ResNet18_Weights'>
    """
    build: Any = get_model_builder(name) if isinstance(name, str) else name
    return build.known


def get_weight(name: str) -> WeightsEnum:
    """The member of a name such as "ResNet18_Weights.DEFAULT"; raises ValueError for others.

    >>> rg.vision.models.get_weight("ResNet18_Weights.DEFAULT").url.rpartition("/")[2]
    'resnet18-f37072fd.pth'
    """
    kind, _, member = name.partition(".")
    for build in BUILDERS.values():
        if build.known.__name__ == kind:
            return build.known[member]
    raise ValueError(f"The weight enum {kind!r} for the specific method couldn't be retrieved")
