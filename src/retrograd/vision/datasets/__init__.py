"""Data sets of pictures, read from local files by their usual names: nothing is downloaded."""

from .cifar import CIFAR10, CIFAR100
from .folder import DatasetFolder, ImageFolder
from .made import Digits, FakeData
from .mnist import KMNIST, MNIST, FashionMNIST
from .svhn import SVHN
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "KMNIST",
    "MNIST",
    "SVHN",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "VisionDataset",
]
