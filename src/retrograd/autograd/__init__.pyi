# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from ..engine.saved import SavedTensor as SavedTensor
from . import graph as graph, forward_ad as forward_ad, function as function, functional as functional, variable as variable
from .anomaly_mode import detect_anomaly as detect_anomaly, set_detect_anomaly as set_detect_anomaly
from .grad import backward as backward, grad as grad
from .grad_mode import _force_original_view_tracking as _force_original_view_tracking, _unsafe_preserve_version_counter as _unsafe_preserve_version_counter, absorb_zeros as absorb_zeros, enable_grad as enable_grad, inference_mode as inference_mode, is_grad_enabled as is_grad_enabled, is_inference_mode_enabled as is_inference_mode_enabled, is_multithreading_enabled as is_multithreading_enabled, is_view_replay_enabled as is_view_replay_enabled, no_grad as no_grad, set_grad_enabled as set_grad_enabled, set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from .graph import _is_checkpoint_valid as _is_checkpoint_valid
from .function import Function as Function
from .variable import Variable as Variable
from ..torch.autograd.profiler import _profiler_enabled as _profiler_enabled, kineto_available as kineto_available
from ..torch.autograd import _functions as _functions, profiler as profiler, profiler_util as profiler_util
__all__ = ['Function', 'SavedTensor', 'Variable', '_force_original_view_tracking', '_is_checkpoint_valid', '_unsafe_preserve_version_counter', 'absorb_zeros', 'backward', 'detect_anomaly', 'enable_grad', 'forward_ad', 'functional', 'grad', 'gradcheck', 'gradgradcheck', 'graph', 'inference_mode', 'is_grad_enabled', 'is_inference_mode_enabled', 'is_multithreading_enabled', 'is_view_replay_enabled', 'no_grad', 'set_detect_anomaly', 'set_grad_enabled', 'set_multithreading_enabled']
