"""Breaks the package in COUNT ways and runs the tests that could notice: `make mutants`, or

    python -m tests.mutants [COUNT=600] [SEED=0] [WORKERS=2] [SECONDS=30]

prints each fault that no test notices and that survivors.md does not know, and the share noticed.
NOTE [Mutants]
1. One process imports the package and collects the tests, without the hot path in C, whose Python
   originals are broken. For each mutant it forks a child, which gives the living functions the
   broken code and runs tests until one fails, or until they would have taken SECONDS. So neither
   import nor collection costs anything, and the files stay as they are.
2. Which tests reach a line is found first, by running all of them with a trace. Those of different
   files come in turn, the quickest of each first. Tests that fail or take long without are not run.
   What a test remembers for the next, such as compiled loops, is forgotten between them.
3. What also runs as the package is imported, or as tests are collected, is left out: it may have
   done its work before it was broken. What is no living function's gives way to another fault.
4. A mutant that takes much longer than its tests do without it, or more memory, is noticed.
5. What was found stays in pytest's cache: a run that was stopped goes on. After a change of tests
   only those in changed files are traced, and only what no test noticed runs again; after one of
   the package, what is in changed functions. A mutant that no trace knows has the tests of its
   function, or else of its file: for a new trace, delete `reached` there.
"""

from __future__ import annotations

import ast
import gc
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict, namedtuple
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, zip_longest
from operator import itemgetter
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from .mutations import mutated, mutations

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "retrograd"
SURVIVORS = Path(__file__).with_name("survivors.md")
WAY, WRITES = "engine/callers.py engine/dispatch.py", "engine/inplace.py engine/writable.py"
# The share of each part among 600 faults, and its files.
PARTS = {
    "formulas": (160, "ops/**"),
    "forwards": (100, "ops/**"),
    "versions": (80, f"{WRITES} engine/tensor.py engine/saved.py engine/updates.py"),
    "views": (80, "engine/views.py ops/shape/*.py kernels/layout.py"),
    "graph": (80, f"{WAY} engine/record.py engine/graph.py engine/backward/*.py"),
    "kernels": (50, "compiler/**"),
    "transforms": (50, "engine/transforms/*.py"),
}
LEFT_OUT = ("ops/random", "ops/lazy_loading.py")
TESTS = (
    "laws engine ops compiler autograd func ../src/retrograd/ops ../src/retrograd/engine "
    "nn optim torch/_subclasses torch/library torch/sparse "
    "test_subclasses.py test_tape.py test_errors.py"
)
# Laws that ask every op for what no fault here is about: classes that take it over, other arrays.
OTHERS = "seam foreign_arrays tapes growth interrupts native independence"
LONGEST, MEMORY, CALLS = 5.0, 8 << 30, 50  # seconds of a test, bytes, traced calls of a function


def files(patterns):
    """The files of a part."""
    globs = [f"{p}/*.py" if p.endswith("**") else p for p in patterns.split()]
    names = {str(path.relative_to(PACKAGE)) for p in globs for path in PACKAGE.glob(p)}
    return sorted(name for name in names if not name.startswith(LEFT_OUT))


def drawn(part, seed, count):
    """Faults of a part, twice as many as are asked for, one of each line that may have some.

    Chance is a digest of each, so that a change of the package changes no other faults.
    """
    lines = defaultdict(list)
    for name in files(PARTS[part][1]):
        texts = Counter()
        for mutant, _ in mutations(ast.parse((PACKAGE / name).read_text()), name):
            if mutant.formula == (part == "formulas") or not name.startswith("ops/"):
                texts[mutant.text] += 1
                chance = digest(part, seed, str(mutant), texts[mutant.text])
                lines[name, mutant.line].append((chance, mutant))
    found = [min(mutants, key=itemgetter(0)) for mutants in lines.values()]
    found.sort(key=lambda each: digest(each[0]))
    return [mutant for _, mutant in found[: 2 * count]]


def digest(*parts):
    """A name for texts."""
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def read(path):
    """A name for what is in a file."""
    return digest(path.read_text())


def place(mutant):
    """Where a mutant is, as traces say it."""
    return str(PACKAGE / mutant.path), mutant.line


def ways(mutant):
    """What tells of a mutant, as text: that, its function, its file."""
    return mutant, mutant.partition(": ")[0], mutant.partition(" ")[0]


Found = namedtuple("Found", "status said tests")


class Trace:
    """The lines, of those that may be broken, which ran."""

    def __init__(self, wanted):
        self.wanted = defaultdict(set)
        for mutant in wanted:
            self.wanted[place(mutant)].add(str(mutant))
        self.files, self.codes = {name for name, _ in self.wanted}, {}
        self.ran, self.calls = set(), Counter()

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if code.co_filename not in self.files:
            return None
        name = id(code)
        if name not in self.codes:
            lines = {(code.co_filename, line) for *_, line in code.co_lines()}
            self.codes[name] = code, not lines.isdisjoint(self.wanted)
        self.calls[name] += 1
        return self.line if self.codes[name][1] and self.calls[name] <= CALLS else None

    def line(self, frame, event, arg):
        self.ran.add((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def taken(self):
        """The mutants, as text, whose lines ran since it was last asked."""
        ran = set().union(*[self.wanted.get(line, ()) for line in self.ran])
        self.ran.clear()
        self.calls.clear()
        return ran


def codes(code):
    """A code object and all in it, by place."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    found = {(): code}
    for i, c in enumerate(inner):
        found |= {(len(inner), i, *place): held for place, held in codes(c).items()}
    return found


def known_by(code):
    """What tells a code object from all others of a file."""
    constants = [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]
    return code.co_firstlineno, code.co_name, code.co_code, code.co_names, tuple(constants)


def living():
    """File to its functions."""
    found = defaultdict(list)
    for function in gc.get_objects():
        if type(function) is FunctionType:
            found[function.__code__.co_filename].append(function)
    return found


def broken(mutant, functions):
    """Give the functions of the mutant's file the code that they have with the fault."""
    path = PACKAGE / mutant.path
    source = path.read_text()
    new = codes(compile(mutated(source, mutant), str(path), "exec", dont_inherit=True))
    old = codes(compile(source, str(path), "exec", dont_inherit=True))
    replaced = {
        known_by(c): new[place] for place, c in old.items() if place in new and new[place] != c
    }
    hit = [function for function in functions if known_by(function.__code__) in replaced]
    assert hit
    for function in hit:
        function.__code__ = replaced[known_by(function.__code__)]


def is_cache_of_tests(value):
    """Whether that is a function of the tests that remembers its results."""
    return type(value) is type(lru_cache(len)) and value.__module__.startswith("tests.")


class Mutants:
    """The plugin of pytest that runs mutants in place of the tests."""

    def __init__(self, count, seed, workers, seconds):
        self.counts = {part: share * count // 600 for part, (share, _) in PARTS.items()}
        self.drawn = {part: drawn(part, seed, n) for part, n in self.counts.items()}
        self.workers, self.seconds, self.failed = workers, seconds, False
        self.trace = Trace(chain(*self.drawn.values()))
        sys.settrace(self.trace)

    def pytest_runtest_logreport(self, report):
        """Note that a test failed."""
        self.failed |= report.failed

    def pytest_runtestloop(self, session):
        """Find out which tests reach what; run those of each mutant; report."""
        sys.settrace(None)
        session.config.pluginmanager.unregister(name="terminalreporter")
        gc.unfreeze()  # `get_objects` knows of nothing that is frozen
        self.living = living()
        self.caches = [cache for cache in gc.get_objects() if is_cache_of_tests(cache)]
        gc.freeze()
        early, self.items = self.trace.taken(), {item.nodeid: item for item in session.items}
        folder = session.config.cache.mkdir("mutants")
        reaching, path = self.reaching(folder / "reached"), folder / "found"
        found = pickle.loads(path.read_bytes()) if path.exists() else {}
        while True:
            chosen = self.chosen(early, found)
            jobs = []
            for mutant in chain(*chosen.values()):
                tests, key = self.in_turn(reaching(mutant)), (str(mutant), mutant.name)
                of = {name: read(file) for name, file, _ in tests}
                if key not in found or (found[key].status == 0 and found[key].tests != of):
                    jobs.append((mutant, of, tests))
            if not jobs:
                break
            random.Random(0).shuffle(jobs)
            for (mutant, of, _), (status, said) in self.forked(jobs, self.tried):
                found[str(mutant), mutant.name] = Found(status, said, of)
                path.write_bytes(pickle.dumps(found))
        report({part: [(m, found[str(m), m.name]) for m in ms] for part, ms in chosen.items()})
        return True

    def chosen(self, early, found):
        """Part to its mutants; none that could not be made."""
        chosen, failed = {}, [key for key, result in found.items() if result.status == 3]
        for part, n in self.counts.items():
            late = [m for m in self.drawn[part] if str(m) not in early and m.differs]
            chosen[part] = [m for m in late if (str(m), m.name) not in failed][:n]
        return chosen

    def reaching(self, path):
        """A function from a mutant to the tests that reach it: (name, file, seconds)."""
        known = pickle.loads(path.read_bytes()) if path.exists() else {}
        files = defaultdict(list)
        for item in self.items.values():
            files[item.path.relative_to(ROOT)].append(item)
        keys = {file: (read(ROOT / file), len(items)) for file, items in files.items()}
        jobs = [(f, items) for f, items in files.items() if known.get(f, [None])[0] != keys[f]]
        for (file, _), (_, said) in self.forked(jobs, self.traced):
            known[file] = keys[file], said
            print(f"traced {file}", flush=True)
            path.write_bytes(pickle.dumps(known))
        found = defaultdict(set)
        for file in files:
            for name, seconds, mutants in known[file][1] or ():
                for key in set().union(*map(ways, mutants)):
                    found[key].add((name, ROOT / file, seconds))
        return lambda mutant: next((found[way] for way in ways(str(mutant)) if way in found), ())

    def in_turn(self, tests):
        """The tests of each file in turn, the quickest first, as many as there is time for."""
        by_file, left, found = defaultdict(list), self.seconds, []
        for test in sorted(tests, key=lambda test: test[-1]):
            by_file[test[1]].append(test)
        for test in filter(None, chain(*zip_longest(*by_file.values()))):
            left -= test[-1]
            if left < 0:
                break
            found.append(test)
        return found

    def forked(self, jobs, do):
        """(job, (status, what `do` gave)) of each job, done by children, `workers` at once."""
        running, jobs = {}, jobs[::-1]
        while jobs or running:
            while jobs and len(running) < self.workers:
                job, folder = jobs.pop(), Path(tempfile.mkdtemp(prefix="m", dir="/tmp"))
                pid = os.fork()
                if not pid:
                    child(folder, do, job)
                running[pid] = job, folder
            pid, status = os.wait()
            job, folder = running.pop(pid)
            said = folder / "said"
            gave = pickle.loads(said.read_bytes()) if said.exists() else None
            yield job, (os.waitstatus_to_exitcode(status), gave)
            shutil.rmtree(folder, ignore_errors=True)

    def run(self, item, after):
        """Run a test before another one; whether it failed, and the seconds that it took."""
        self.failed, begun = False, time.monotonic()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=after)
        return self.failed, time.monotonic() - begun

    def traced(self, say, file, items):
        """Say (name, seconds, mutants) of each test of a file that reaches some."""
        found = []
        for item, after in zip_longest(items, items[1:]):
            for cache in self.caches:
                cache.cache_clear()
            sys.settrace(self.trace)
            failed, seconds = self.run(item, after)
            sys.settrace(None)
            reached = self.trace.taken()
            if reached and not failed and seconds < LONGEST:
                found.append((item.nodeid, seconds, reached))
        say(found)
        return 0

    def tried(self, say, mutant, of, tests):
        """0 if no test notices the mutant, 1 if one does, which is said."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        broken(mutant, self.living[str(PACKAGE / mutant.path)])
        items = [(self.items[name], seconds) for name, _, seconds in tests]
        for (item, seconds), (after, _) in zip_longest(items, items[1:], fillvalue=(None, 0)):
            say(item.nodeid)
            signal.setitimer(signal.ITIMER_PROF, 10 + 10 * seconds)
            if self.run(item, after)[0]:
                return 1
        return 0


def child(folder, do, job):
    """Do a job in a process of its own, with a folder for temporary files and for what it says."""
    status = 3
    try:
        os.setsid()
        signal.alarm(600)  # where it waits for itself
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        status = do(lambda said: (folder / "said").write_bytes(pickle.dumps(said)), *job)
    finally:
        os._exit(status)


def report(found):
    """Print the share noticed of each part, and what was not and has no reason in the list."""
    explained = SURVIVORS.read_text() if SURVIVORS.exists() else ""
    noticed = total = 0
    for part, results in found.items():
        count = sum(result.status != 0 for _, result in results)
        noticed, total = noticed + count, total + len(results)
        print(f"{part}: {count} of {len(results)} noticed")
        for mutant, result in results:
            if result.status == 0 and f"`{mutant}`" not in explained:
                print(f"  `{mutant}`, line {mutant.line}, {len(result.tests)} files of tests")
    print(f"{noticed} of {total} noticed: {100 * noticed / total:.1f} %")


def main(COUNT=600, SEED=0, WORKERS=2, SECONDS=30):
    """Break and report."""
    os.environ["RETROGRAD_NATIVE"] = "0"
    os.environ["RETROGRAD_CACHE"] = "/dev/null/none"  # so that kernels are compiled, not found
    plugin = Mutants(int(COUNT), SEED, int(WORKERS), float(SECONDS))
    paths = [os.path.normpath(ROOT / "tests" / name) for name in TESTS.split()]
    others = [f"--ignore={ROOT}/tests/laws/test_{name}.py" for name in OTHERS.split()]
    return pytest.main([*paths, *others, "-p", "no:xdist", "-q"], [plugin])


if __name__ == "__main__":
    sys.exit(main(**dict(argument.split("=") for argument in sys.argv[1:])))
