"""Export and evaluation by the package onnx, without which these tests are left out."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import retrograd as rg
from retrograd import pytree


@pytest.fixture
def exported():
    """Export a model, evaluate it with the package's own evaluator, and compare."""
    pytest.importorskip("onnx", reason="the package that writes and evaluates ONNX")
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator

    def check(model, *args, others=(), tolerance=1e-5, **options):
        program = rg.onnx.export(model, args, **options)
        names = [each.name for each in program.model_proto.graph.input]
        session = evaluator(program.model_proto)
        for given in (args, *others):
            with rg.no_grad():
                expected = pytree.flatten(model(*given))
            found = session.run(None, {n: t.numpy() for n, t in zip(names, given, strict=True)})
            assert len(found) == len(expected)
            for a, b in zip(found, expected, strict=True):
                assert a.dtype == b.numpy().dtype
                np.testing.assert_allclose(a, b.numpy(), tolerance, tolerance)
        return program.model_proto

    return check
