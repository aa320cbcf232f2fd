"""Elementwise functions as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: add.Tensor.Scalar bitwise_and.Tensor.Scalar.Scalar_Tensor
    bitwise_left_shift.Tensor.Tensor_Scalar.Scalar_Tensor bitwise_left_shift_.Tensor_Scalar.Tensor
    bitwise_or.Tensor.Scalar.Scalar_Tensor bitwise_right_shift.Tensor.Tensor_Scalar.Scalar_Tensor
    bitwise_right_shift_.Tensor_Scalar.Tensor bitwise_xor.Tensor.Scalar.Scalar_Tensor
    clamp.default.Tensor clamp_max.default.Tensor clamp_min.default.Tensor clip.default.Tensor
    copysign.Tensor.Scalar div.Tensor.Scalar.Tensor_mode.Scalar_mode
    div_.Tensor.Tensor_mode.Scalar.Scalar_mode divide_.Tensor.Tensor_mode.Scalar_mode.Scalar
    eq.Tensor.Scalar eq_.Scalar.Tensor float_power.Tensor_Tensor.Tensor_Scalar.Scalar
    float_power_.Tensor.Scalar floor_divide.default.Scalar floor_divide_.Tensor.Scalar
    fmod.Tensor.Scalar frexp.Tensor ge.Tensor.Scalar ge_.Scalar.Tensor gt.Tensor.Scalar
    gt_.Scalar.Tensor ldexp.Tensor ldexp_.default le.Tensor.Scalar le_.Scalar.Tensor
    lerp.Scalar.Tensor lt.Tensor.Scalar lt_.Scalar.Tensor mul.Tensor.Scalar ne.Tensor.Scalar
    ne_.Scalar.Tensor pow.Tensor_Tensor.Tensor_Scalar.Scalar pow_.Scalar.Tensor
    remainder.Tensor.Scalar.Scalar_Tensor round.default.decimals rsub.Tensor.Scalar
    special_round.default sub.Tensor.Scalar true_divide.Tensor.Scalar true_divide_.Tensor.Scalar
    where.self.ScalarOther.ScalarSelf.Scalar.default
composed: clip conj conj_physical float_power imag is_conj is_neg isclose isfinite isreal positive
    real resolve_conj resolve_neg square sum_to_size
basic: conj_physical_
float32: polar view_as_complex
onnx: eq.Equal ge.GreaterOrEqual gt.Greater isnan.IsNaN le.LessOrEqual logical_and.And
    logical_not.Not logical_or.Or logical_xor.Xor lt.Less maximum.Max minimum.Min pow_tensors.Pow
unrecorded: allclose equal
"""
