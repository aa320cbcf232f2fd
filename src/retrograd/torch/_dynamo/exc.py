"""`torch._dynamo.exc` under the alias: errors that programs catch.

Only UserError and InvalidBackend are raised.
"""

from ...errors import InvalidBackend, UserError

__all__ = [
    "BackendCompilerFailed", "InternalTorchDynamoError", "InvalidBackend", "TorchDynamoException",
    "Unsupported", "UserError",
]  # fmt: skip


class TorchDynamoException(RuntimeError):  # noqa: N818 (PyTorch's names)
    """A function could not be captured."""


class InternalTorchDynamoError(TorchDynamoException):
    """The capture failed by itself."""


class Unsupported(TorchDynamoException):
    """The function does what cannot be captured."""


class BackendCompilerFailed(TorchDynamoException):
    """A captured function could not be compiled."""
