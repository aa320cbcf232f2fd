"""Random numbers as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: fork_rng
overloads: bernoulli.default.p.Tensor bernoulli_.Tensor.float
    normal.Tensor_float.float_Tensor.Tensor_Tensor.float_float normal_.default
    rand.default.generator rand_like.default.generator randint.default.generator.low.low_generator
    randint_like.default.Tensor.low_dtype.generator.Tensor_generator.low_generator_dtype
    randn.default.generator randn_like.default.generator random_.from.to.default
    randperm.default.generator
numbers: randint randint_like random_
unrecorded: multinomial rand_like randint_like randn_like
"""
