"""A policy learns to balance a pole by its own trials: REINFORCE on an environment of 20 lines.

retrograd run examples/torch/policy.py [--quick]
"""

import math
import sys

import torch
from torch import nn
from torch.distributions import Categorical

EPISODES = 10 if "--quick" in sys.argv else 150


class Pole:
    """A pole on a cart, pushed left or right: Barto, Sutton and Anderson (1983)."""

    def reset(self):
        self.state = (torch.rand(4, dtype=torch.float64) * 0.1 - 0.05).tolist()
        return torch.tensor(self.state)

    def step(self, action):
        x, speed, angle, turn = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
        spin = 9.8 * math.sin(angle) - math.cos(angle) * push
        spin /= 0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
        drive = push - 0.05 * spin * math.cos(angle) / 1.1
        self.state = [
            x + 0.02 * speed,
            speed + 0.02 * drive,
            angle + 0.02 * turn,
            turn + 0.02 * spin,
        ]
        return torch.tensor(self.state), abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    pole = Pole()
    policy = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    lasted = []
    for _ in range(EPISODES):
        state, logs, over = pole.reset(), [], False
        while not over and len(logs) < 200:
            choice = Categorical(logits=policy(state))
            action = choice.sample()
            logs.append(choice.log_prob(action))
            state, over = pole.step(action.item())
        returns = torch.tensor([sum(0.99**k for k in range(n)) for n in range(len(logs), 0, -1)])
        returns = (returns - returns.mean()) / (returns.std() + 1e-9)
        optimizer.zero_grad()
        (-(torch.stack(logs) * returns).sum()).backward()
        optimizer.step()
        lasted.append(len(logs))
    print(f"steps at first {sum(lasted[:10]) / 10:.1f}, at last {sum(lasted[-10:]) / 10:.1f}")


if __name__ == "__main__":
    main()
