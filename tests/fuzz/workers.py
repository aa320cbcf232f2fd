"""Interpreters in processes of their own, so that a crash is an outcome like any other."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

from retrograd.compiler.door import AVAILABLE

ROOT = Path(__file__).parents[2]
LIMIT = 60  # seconds for one program


class Worker:
    """A process that runs programs: `python` with a library, under variables of the environment."""

    def __init__(self, python, *library, **environment):
        self.command = [python, "-m", "tests.fuzz.interpreter", *library]
        self.environment = os.environ | environment
        self.process = None

    def start(self):
        """Start the process, unless it runs."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environment, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def send(self, program, watched):
        """Begin a program."""
        self.start()
        self.process.stdin.write(json.dumps([watched, *program]) + "\n")

    def receive(self):
        """The outcome of the program begun; ["crash", why] if the process died or hung."""
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        if not ready:
            self.process.kill()
        self.process.wait()
        return ["crash", f"exit {self.process.returncode}" if ready else "hang"]

    def stop(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def workers(torch_python):
    """Retrograd in its ways of running, and PyTorch if there is an interpreter that has it."""
    found = {"C": Worker(sys.executable, "retrograd", RETROGRAD_NATIVE="1"),
             "Python": Worker(sys.executable, "retrograd", RETROGRAD_NATIVE="0")}  # fmt: skip
    if AVAILABLE:
        found["kernels"] = Worker(sys.executable, "retrograd", "kernels", RETROGRAD_NATIVE="1")
    if torch_python:
        found["PyTorch"] = Worker(torch_python, "torch", OMP_NUM_THREADS="1")
    return found


def outcomes(processes, program, watched):
    """The outcome in each process, which run at the same time."""
    for worker in processes.values():
        worker.send(program, watched)
    return {name: worker.receive() for name, worker in processes.items()}
