#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time and memory of mp-opt as a whole process, beside other converters.

    benchmarks/run.py                      mp-opt alone
    benchmarks/run.py --peers ort,occ      and its peers, in the same run
    benchmarks/run.py --copies             beside cp

Prints a table in Markdown: wall time (median and spread), peak resident
memory, and peak anonymous memory - what the process allocated, without the
pages of files it only mapped. A peer's row says how many times as long as
mp-opt's last row it takes. Models are made once and kept under --models.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import make_models

HERE = pathlib.Path(__file__).resolve().parent
MP_OPT = HERE.parent / "build" / "bin" / "mp-opt"
CACHE = pathlib.Path(
    os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")
)
SAMPLE_SECONDS = 0.002
MEMORY_FIELDS = ("VmHWM", "RssAnon")


class Timeout(Exception):
    pass


def read_status(pid):
    """Memory fields of a running process, in bytes; {} when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    fields = (line.split() for line in text.splitlines() if "kB" in line)
    return {
        field[0].rstrip(":"): int(field[1]) * 1024
        for field in fields
        if field[0].rstrip(":") in MEMORY_FIELDS
    }


def timed(command, limit):
    """Wall time of a command; it is not disturbed by being watched."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        _, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Timeout(limit) from None
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit(f"{command} failed:\n{errors.decode(errors='replace')}")
    return seconds


def watched(command, limit):
    """Peak memory of a command, by sampling; its own run, not a timed one."""
    peak = dict.fromkeys(MEMORY_FIELDS, 0)
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + limit
    while process.poll() is None:
        if time.monotonic() > end:
            process.kill()
            process.wait()
            raise Timeout(limit)
        for field, value in read_status(process.pid).items():
            peak[field] = max(peak[field], value)
        time.sleep(SAMPLE_SECONDS)
    return peak


def clear(output):
    """Every run writes new files; removing the old ones is not its work."""
    for file in pathlib.Path(output).parent.glob(f"{os.path.basename(output)}*"):
        file.unlink()


def measure(command, output, repeat, limit):
    """(seconds of every run, peak memory), or None past the limit."""
    try:
        peak = watched(command, limit)  # warms the page cache, too
        times = []
        for _ in range(repeat):
            clear(output)
            times.append(timed(command, limit))
        return times, peak
    except Timeout:
        return None


def commands(arguments, source, folder):
    """The label, command and number of repetitions of every tool."""
    output = os.path.join(folder, "out.onnx")
    for flag in arguments.flags.split(","):
        command = [arguments.mp_opt, source, *flag.split(), "-o", output]
        yield f"mp-opt {flag}", command, arguments.repeat
    for peer in filter(None, arguments.peers.split(",")):
        script = str(HERE / "convert_with_peer.py")
        command = [sys.executable, script, peer, source, output]
        yield peer, command, arguments.peer_repeat


def data_bytes(folder, prefix):
    """The bytes of all files of that prefix: a model and its data."""
    files = pathlib.Path(folder).glob(f"{prefix}*")
    return sum(file.stat().st_size for file in files)


def measure_copy(source, folder, repeat, limit):
    """cp of half as many bytes as mp-opt has read and written, so that it
    reads and writes as many as mp-opt; and how many that are."""
    source = pathlib.Path(source)
    total = data_bytes(source.parent, source.name)
    total += data_bytes(folder, "out.onnx")
    half = os.path.join(folder, "half")
    with open(half, "wb") as file:
        for chunk in range(0, total // 2, 1 << 24):
            file.write(os.urandom(min(1 << 24, total // 2 - chunk)))
    copy = os.path.join(folder, "copy")
    result = measure(["cp", half, copy], copy, repeat, limit)
    return total, result


def row(model, label, result, base):
    if result is None:
        return f"| {model} | {label} | over the limit | | | | |"
    times, peak = result
    seconds = statistics.median(times)
    cells = [
        model,
        label,
        f"{seconds:.3f}",
        f"{min(times):.3f} - {max(times):.3f}",
        f"{peak['VmHWM'] / 1e6:.0f}",
        f"{peak['RssAnon'] / 1e6:.0f}",
        f"{seconds / base:.1f}" if base else "",
    ]
    return f"| {' | '.join(cells)} |"


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mp-opt", default=os.environ.get("MP_OPT", str(MP_OPT)))
    add("--only", default=",".join(make_models.DEFAULT), help="models")
    add("--flags", default="--mixed-bf16,--mixed-fp16", help="one run each")
    add("--peers", default="", help="ort, occ, or both with a comma")
    add("--repeat", type=int, default=5, help="timed runs of mp-opt")
    add("--peer-repeat", type=int, default=1, help="timed runs of a peer")
    add("--limit", type=float, default=240, help="seconds a run may take")
    add("--copies", action="store_true", help="cp of as many bytes, too")
    add("--models", default=str(CACHE / "mp-opt" / "benchmark-models"))
    arguments = parser.parse_args()
    if not os.access(arguments.mp_opt, os.X_OK):
        parser.error(f"no mp-opt at {arguments.mp_opt}")
    unknown = set(arguments.only.split(",")) - set(make_models.MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = parse()
    print(f"{os.cpu_count()} CPUs\n")
    print("| model | tool | s | range, s | peak MB | anon MB | x mp-opt |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in arguments.only.split(","):
        source = make_models.make(name, arguments.models)
        base = None
        # Beside the models: a temporary file system may be memory.
        folder = tempfile.mkdtemp(dir=arguments.models)
        try:
            for label, command, repeat in commands(arguments, source, folder):
                output = os.path.join(folder, "out.onnx")
                result = measure(command, output, repeat, arguments.limit)
                ours = label.startswith("mp-opt")
                print(row(name, label, result, None if ours else base))
                sys.stdout.flush()
                if ours and result is not None:
                    base = statistics.median(result[0])
                if ours and "bf16" in label and arguments.copies:
                    total, copied = measure_copy(
                        source, folder, arguments.repeat, arguments.limit
                    )
                    label = f"cp of as many bytes ({total / 1e6:.0f} MB)"
                    print(row(name, label, copied, None))
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
