"""Data sets of pictures, read from local files by their usual names: nothing is downloaded."""

from .cifar import CIFAR10, CIFAR100
from .made import Digits, FakeData
from .mnist import MNIST, FashionMNIST
from .vision import VisionDataset

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "Digits", "FakeData", "FashionMNIST", "VisionDataset"]
