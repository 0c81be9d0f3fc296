#!/usr/bin/env python3
"""Compares the latency of compiled models with a stored baseline; for any continuous integration.

    benchmark.py measure MODEL... >measured.json     compiles each model, links it with bench.c and times it
    benchmark.py compare baseline.json measured.json prints a table; exit status 1 if a model became slower
    benchmark.py store baseline.json measured.json   makes the measured latencies the baseline of their CPU

Both files are JSON: {CPU: {MODEL: microseconds}}, with the models' paths as given. Latencies of different CPUs are never
compared. Exit status 2: a file cannot be read, or a command fails.
"""
import argparse
import json
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

HARNESS = pathlib.Path(__file__).with_name("bench.c")


def cpu_name():
    try:
        return re.search(r"^model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def latency(model, args):
    """Median microseconds of one run of the model, in the fastest of several processes."""
    with tempfile.TemporaryDirectory() as folder:
        compile_model = [*shlex.split(args.dlcc), model, "-o", f"{folder}/model.o"]
        link = [*shlex.split(args.cc), f"-I{folder}", HARNESS, f"{folder}/model.o", *shlex.split(args.libs), "-o", f"{folder}/bench"]
        for command in compile_model, link:
            subprocess.run(command, check=True)
        bench = [f"{folder}/bench", str(args.seconds)]
        return min(float(subprocess.run(bench, check=True, capture_output=True).stdout) for _ in range(args.processes))


def measure(args):
    print(json.dumps({cpu_name(): {model: latency(model, args) for model in args.models}}, indent=1))
    return 0


def read(path):
    """Microseconds by CPU and model."""
    latencies = json.loads(pathlib.Path(path).read_text())
    by_cpu = list(latencies.values()) if isinstance(latencies, dict) else [None]
    if not all(isinstance(models, dict) and all(isinstance(us, (int, float)) for us in models.values()) for models in by_cpu):
        raise ValueError(f"{path}: expected {{CPU: {{MODEL: MICROSECONDS}}}}")
    return latencies


def compare(args):
    if not pathlib.Path(args.baseline).exists():
        raise ValueError(f"{args.baseline}: there is no baseline yet; 'store' makes the first one")
    baseline, measured = read(args.baseline), read(args.measured)
    slower, width = 0, max((len(model) for latencies in measured.values() for model in latencies), default=0)
    print(f"{'model':{width}} {'baseline us':>12} {'now us':>12} {'change':>9}")
    for cpu, latencies in measured.items():
        for model, now in latencies.items():
            before = baseline.get(cpu, {}).get(model)
            if not before:
                print(f"{model:{width}} {'-':>12} {now:12.2f} {'-':>9}  no baseline on {cpu}")
                continue
            change = 100 * (now / before - 1)
            is_slower = change > args.tolerance
            print(f"{model:{width}} {before:12.2f} {now:12.2f} {change:+8.1f}%{'  slower' if is_slower else ''}")
            slower += is_slower
    if slower:
        print(f"{slower} slower by more than {args.tolerance:g} %")
    return 1 if slower else 0


def store(args):
    baseline = read(args.baseline) if pathlib.Path(args.baseline).exists() else {}
    for cpu, latencies in read(args.measured).items():
        baseline.setdefault(cpu, {}).update(latencies)
    pathlib.Path(args.baseline).write_text(json.dumps(baseline, indent=1, sort_keys=True) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure", help="print the latencies of models")
    measuring.add_argument("models", nargs="+", metavar="MODEL")
    measuring.add_argument("--dlcc", default="dlcc", help="the compiler, with options")
    measuring.add_argument("--cc", default="cc -std=c11 -O2", help="the C compiler, with options")
    measuring.add_argument("--libs", default="", help="libraries, e.g. of models that use threads")
    measuring.add_argument("--seconds", type=float, default=0.5, help="time of one process")
    measuring.add_argument("--processes", type=int, default=5, help="processes for each model; the fastest counts")
    comparing = commands.add_parser("compare", help="compare latencies with the baseline")
    comparing.add_argument("--tolerance", type=float, default=10, metavar="PERCENT", help="how much slower a model may be")
    storing = commands.add_parser("store", help="make latencies the baseline")
    for command in comparing, storing:
        command.add_argument("baseline", metavar="BASELINE")
        command.add_argument("measured", metavar="MEASURED")
    args = parser.parse_args()
    return {"measure": measure, "compare": compare, "store": store}[args.command](args)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"benchmark.py: {error}", file=sys.stderr)
        sys.exit(2)
