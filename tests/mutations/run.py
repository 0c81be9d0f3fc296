#!/usr/bin/env python3
"""Plants the defects of the lists *.txt beside this file one at a time and requires that a test fails for each.

    run.py [NAME...] [--check] [--shard 1/4] [--tested] [--prefix 'nice -n 10']

Works in a copy of the source tree under build/mutations, which later runs update. A mutation is caught when one of the
tests that it names fails; only the programs of these tests are built. A mutation whose text is not found, or that does
not compile, is a failure. The format of the lists:

    mutation NAME: what is wrong
    tests REGEX            the smallest tests of which one must fail, for ctest -R
    file PATH
    - a line of the file   consecutive lines are one text, which occurs once in the file
    + the line instead     may be left out

Lines are compared without the white space around them. Further `file` entries belong to the same mutation.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COPY = SOURCE / "build" / "mutations"
BUILD = COPY / "build" / "incremental"


class Edit:
    """A text of whole lines in one file, and the lines that replace it."""

    def __init__(self, path):
        self.path, self.old, self.new = path, [], []

    def apply(self, text):
        """The changed text; an error unless the old lines occur exactly once. White space around lines does not count."""
        lines = text.split("\n")
        stripped = [line.strip() for line in lines]
        count = len(self.old)
        found = [i for i in range(len(lines) - count + 1) if stripped[i : i + count] == self.old]
        if len(found) != 1:
            raise ValueError(f"{self.path}: the text '{' '.join(self.old)}' occurs {len(found)} times")
        lines[found[0] : found[0] + count] = self.new
        return "\n".join(lines)


class Mutation:
    def __init__(self, name, what):
        self.name, self.what, self.tests, self.edits = name, what, ".", []

    def texts(self, root):
        """The files of the tree at `root` before and after, by path."""
        before, after = {}, {}
        for edit in self.edits:
            before.setdefault(edit.path, (root / edit.path).read_text())
            after[edit.path] = edit.apply(after.get(edit.path, before[edit.path]))
        return before, after


def read_mutations(path):
    mutations = []
    for line in path.read_text().splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "mutation":
            mutations.append(Mutation(*rest.split(": ", 1)))
        elif word == "tests":
            mutations[-1].tests = rest
        elif word == "file":
            mutations[-1].edits.append(Edit(rest))
        elif word in ("-", "+"):
            edit = mutations[-1].edits[-1]
            if word == "-" and edit.new:  # another edit of the same file
                edit = Edit(edit.path)
                mutations[-1].edits.append(edit)
            (edit.old if word == "-" else edit.new).append(rest.strip())
        elif word and not word.startswith("#"):
            sys.exit(f"{path}: unknown line '{line}'")
    return mutations


def write_if_changed(path, data):
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def update_copy():
    """Makes the copy's sources equal to the tree's; its build folder stays."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE,
                            check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (SOURCE / name).is_file()}
    for name in wanted:
        write_if_changed(COPY / name, (SOURCE / name).read_bytes())
    for path in COPY.rglob("*"):
        name = path.relative_to(COPY)
        if path.is_file() and name.parts[0] != "build" and name.as_posix() not in wanted:
            path.unlink()


class Runner:
    def __init__(self, prefix):
        self.prefix = shlex.split(prefix)
        # The compiler cache knows the objects of the tree when paths are relative. Unit tests end at the first failure.
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(COPY), DLCC_STOP_EARLY="1")

    def call(self, *command):
        done = subprocess.run([*self.prefix, *command], cwd=COPY, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode == 0, done.stdout

    def build(self, *targets):
        return self.call("cmake", "--build", str(BUILD), *(["--target", *targets] if targets else []))

    def failing_tests(self, selected="."):
        """Names of tests that fail; stops at the first. The list's own test would fail for every mutation."""
        passed, output = self.call("ctest", "--test-dir", str(BUILD), "--timeout", "600", "--stop-on-failure",
                                   "--no-tests=ignore", "-R", selected, "-E", "^mutations/")
        return [] if passed else re.findall(r"^\s*\d+ - (\S+) \((?!Skipped)", output, re.M) or [output[-2000:]]

    def read_programs(self):
        """The built files that each test's command names, by test; with those of the tests that set up its fixtures."""
        _, output = self.call("ctest", "--test-dir", str(BUILD), "--show-only=json-v1")
        tests = json.loads(output)["tests"]
        value = lambda test, name: [v for p in test["properties"] if p["name"] == name for v in p["value"]]
        files = {test["name"]: [os.path.relpath(a, BUILD) for a in test.get("command", [])
                                if a.startswith(str(BUILD)) and os.path.isfile(a)] for test in tests}
        setup = {fixture: test["name"] for test in tests for fixture in value(test, "FIXTURES_SETUP")}
        self.programs = {test["name"]: files[test["name"]] + [f for fixture in value(test, "FIXTURES_REQUIRED")
                                                              for f in files[setup[fixture]]] for test in tests}

    def programs_of(self, selected):
        return sorted({file for test, files in self.programs.items() if re.search(selected, test) for file in files})

    def prepare(self, tested):
        """Builds the copy and, unless `tested`, requires that all tests pass without a mutation."""
        update_copy()
        data = os.environ.get("DLCC_TEST_DATA", "")
        configured, output = self.call("cmake", "--preset", "incremental", f"-DDLCC_TEST_DATA={data}")
        if configured:
            configured, output = self.build()
        if not configured:
            sys.exit(output)
        if not tested and (failing := self.failing_tests()):
            sys.exit(f"without a mutation these fail: {failing}")
        self.read_programs()

    def run(self, mutation):
        """Why the mutation does not count as caught; None if it does, by the test in `caught_by`."""
        try:
            before, after = mutation.texts(COPY)
        except (OSError, ValueError) as problem:
            return str(problem)
        try:
            for path, text in after.items():
                (COPY / path).write_text(text)
            ok, output = self.build(*self.programs_of(mutation.tests))
            failing = self.failing_tests(mutation.tests) if ok else []
            if not ok:
                return "does not compile\n" + output[-2000:]
        finally:
            for path, text in before.items():
                (COPY / path).write_text(text)
        self.caught_by = failing
        return None if failing else f"SURVIVED: {mutation.what}"


def check_texts(mutations):
    names = [mutation.name for mutation in mutations]
    problems = [f"{name}: two mutations have this name" for name in sorted(set(names)) if names.count(name) > 1]
    for mutation in mutations:
        try:
            mutation.texts(SOURCE)
        except (OSError, ValueError) as problem:
            problems.append(f"{mutation.name}: {problem}")
    return problems


def parse_shard(text):
    """Which of how many equal ranges of the list, counted from 1: '2/4'."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not K/N with 1 <= K <= N")
    return int(match[1]), int(match[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="the mutations to run; default: all")
    parser.add_argument("--check", action="store_true", help="only check that every text is found")
    parser.add_argument("--shard", type=parse_shard, default=(1, 1), metavar="K/N",
                        help="run the K-th of N equal ranges of the list")
    parser.add_argument("--tested", action="store_true", help="do not test the tree without a mutation first")
    parser.add_argument("--prefix", default="", help="goes in front of every command")
    options = parser.parse_args()
    lists = sorted(pathlib.Path(__file__).parent.glob("*.txt"))
    mutations = [mutation for path in lists for mutation in read_mutations(path)]
    if unknown := set(options.names) - {m.name for m in mutations}:
        sys.exit(f"there is no mutation {', '.join(sorted(unknown))}")
    # Neighbours change the same file, so that fewer files are compiled anew without a mutation.
    mutations = sorted((m for m in mutations if not options.names or m.name in options.names),
                       key=lambda m: m.edits[0].path)
    shard, shards = options.shard
    mutations = mutations[len(mutations) * (shard - 1) // shards : len(mutations) * shard // shards]
    problems = check_texts(mutations)
    if options.check or problems:
        print("\n".join(problems + [f"{len(mutations) - len(problems)} passed, {len(problems)} failed"]))
        return 1 if problems else 0

    runner = Runner(options.prefix)
    runner.prepare(options.tested)
    failed = 0
    for mutation in mutations:
        start = time.monotonic()
        problem = runner.run(mutation)
        failed += problem is not None
        print(f"{mutation.name}: {problem or 'caught by ' + ' '.join(runner.caught_by)} "
              f"({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(mutations) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
