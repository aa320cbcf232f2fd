# %% [markdown]
"""A quantum circuit finds the ground state of a magnet, by descent among unitary matrices.

The circuit is a wall of two-qubit gates, each a unitary 4 x 4 matrix: the complex matrices
themselves are the parameters. For a real loss L and a complex z = x + iy, the gradient is
∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest ascent; `optim.UnitaryAdam` turns it into a
rotation, so that every gate stays unitary. The magnet is the transverse-field Ising chain at its
critical point, whose exact energy is that of the smallest eigenvalue.

    python -m examples.complex.quantum_circuit        # a minute; with --quick, seconds
"""

# %%
from __future__ import annotations

import sys
from typing import Any

import retrograd as rg

QUBITS, LAYERS, FIELD = 6, 4, 1.0
C = rg.complex128


# %%
def magnet() -> rg.Tensor:
    """The Hamiltonian: minus the sum of neighbouring ZZ, minus the field times the sum of X."""
    x, z, one = rg.tensor([[0, 1], [1, 0.0]]), rg.tensor([[1, 0], [0, -1.0]]), rg.eye(2)

    def chain(*places: tuple[int, rg.Tensor]) -> rg.Tensor:
        given, found = dict(places), rg.eye(1)
        for qubit in range(QUBITS):
            found = rg.kron(found, given.get(qubit, one))
        return found

    bonds = rg.stack([chain((q, z), (q + 1, z)) for q in range(QUBITS - 1)]).sum(0)
    spins = rg.stack([chain((q, x)) for q in range(QUBITS)]).sum(0)
    return (-bonds - FIELD * spins).to(C)


# %%
def applied(state: rg.Tensor, gate: rg.Tensor, qubit: int) -> rg.Tensor:
    """The state after a gate on a qubit and the next one."""
    pairs = state.reshape(2**qubit, 4, -1)
    return rg.einsum("ij,ajb->aib", gate, pairs).reshape(-1)


# %%
def energy(gates: list[rg.Tensor], hamiltonian: rg.Tensor) -> rg.Tensor:
    """<psi|H|psi> of the circuit's state, which begins with all spins up."""
    state = rg.zeros(2**QUBITS, dtype=C)
    state[0] = 1.0
    places = [q for layer in range(LAYERS) for q in range(layer % 2, QUBITS - 1, 2)]
    for gate, qubit in zip(gates, places, strict=True):
        state = applied(state, gate, qubit)
    return (state.conj() @ (hamiltonian @ state)).real


# %%
def run(quick: bool = False) -> dict[str, Any]:
    """The energy at every step, the exact one, and how far the gates are from unitary."""
    rg.manual_seed(0)
    hamiltonian = magnet()
    exact = rg.linalg.eigvalsh(hamiltonian)[0].item()
    count = sum(len(range(layer % 2, QUBITS - 1, 2)) for layer in range(LAYERS))
    gates = [rg.nn.init.orthogonal_(rg.empty(4, 4, dtype=C)).requires_grad_() for _ in range(count)]
    optimizer = rg.optim.UnitaryAdam(gates, lr=0.1)
    path: list[float] = []
    steps = 100 if quick else 400
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        found = energy(gates, hamiltonian)
        found.backward()
        optimizer.step()
        path.append(found.item())
        if step % (steps // 5) == 0:
            print(f"step {step} of {steps}: energy {path[-1]:.5f}, exact {exact:.5f}")
    worst = max((g @ g.mH - rg.eye(4)).abs().max().item() for g in gates)
    return {
        "energy": path[-1],
        "exact": exact,
        "error": (path[-1] - exact) / abs(exact),
        "unitarity": worst,
        "path": path,
    }


# %%
def draw(found: dict[str, Any]) -> rg.viz.Picture:
    """The energy over the steps, and the exact one."""
    lines = {"circuit": found["path"], "exact": [found["exact"]] * len(found["path"])}
    return rg.viz.curves(lines, y="energy")


# %%
if __name__ == "__main__":
    found = run(quick="--quick" in sys.argv)
    print(f"The energy is {found['error']:.2%} above the exact one;")
    print(f"the gates are unitary within {found['unitarity']:.0e}.")
    print(draw(found).save("quantum_circuit.svg"))
