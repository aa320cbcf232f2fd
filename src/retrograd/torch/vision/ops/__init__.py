"""torchvision's operators in C++: non-maximum suppression, regions, deformable convolutions."""

from .boxes import nms
from .deform_conv import deform_conv2d
from .regions import ps_roi_align, ps_roi_pool, roi_align, roi_pool

__all__ = ["deform_conv2d", "nms", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]
