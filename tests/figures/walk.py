"""Run by gdb (`tests/walk`): lists the functions of the workspace that the program `walk` enters on the
way of one request, in the order of their first entries, and counts how often the folder changes.

A function is what has a name and a line: closures and async bodies count, all instances of a generic
function are one, and the compiler's drop glue has no line in the workspace. A folder is the directory
of the source file.
"""

import collections
import os
import re
import subprocess

import gdb

CRATES = ("lock-key", "lock-store", "lock-core", "lock-policy", "lock-tower")
HASH = re.compile("::h[0-9a-f]{16}$")


def in_file(binary):
    """Returns the address of each function in the file, by its mangled name."""
    nm = subprocess.run(["nm", "--defined-only", binary], check=True, capture_output=True, text=True)
    symbols = [line.split(" ", 2) for line in nm.stdout.splitlines()]
    return {name: int(address, 16) for address, kind, name in symbols if kind in "tTwW"}


def marker(symbols, name):
    return next(mangled for mangled in symbols if name in mangled)


def in_process(symbols):
    """Returns the addresses in the process, which has the program at another place than the file says."""
    begins = marker(symbols, "way_begins")
    moved = int(gdb.parse_and_eval(f"(long) &'{begins}'")) - symbols[begins]
    return {name: address + moved for name, address in symbols.items()}


def functions(symbols):
    """Returns the name, file and line of each function of the crates, by its address."""
    root = os.getcwd()
    found = {}
    for mangled, address in symbols.items():
        line = gdb.find_pc_line(address)
        if line.symtab is None or line.pc != address:
            continue
        file = os.path.relpath(line.symtab.fullname(), root)
        if file.split("/")[0] in CRATES:
            name = gdb.execute(f"demangle -l rust -- {mangled}", to_string=True).strip()
            # The instances of a generic function differ in the hash alone.
            found[address] = (HASH.sub("", name), file, line.line)
    missing = set(CRATES) - {file.split("/")[0] for _, file, _ in found.values()}
    if missing:
        raise gdb.GdbError(f"the program has no line of {', '.join(missing)}: it needs a debug build")
    return found


def stop_once(address):
    return gdb.Breakpoint(f"*{address:#x}", internal=True, temporary=True)


def address_of_next_stop():
    gdb.execute("continue", to_string=True)
    if not gdb.selected_inferior().threads():
        raise gdb.GdbError("the program ended before the way of its request did")
    return gdb.selected_frame().pc()


def entered(binary):
    """Returns the name, file and line of each function, in the order of the first entries."""
    gdb.execute("starti", to_string=True)
    symbols = in_process(in_file(binary))
    known = functions(symbols)
    markers = ("way_begins", "way_ends", "quiet_ends")
    begin, end, quiet = (symbols[marker(symbols, name)] for name in markers)
    stop_once(begin)
    stopped = address_of_next_stop()
    if stopped != begin:
        raise gdb.GdbError(f"stopped at {stopped:#x}, before the request")
    stops = [stop_once(address) for address in [*known, end, quiet]]
    order = {}
    while (address := address_of_next_stop()) != end:
        if address not in known:
            raise gdb.GdbError(f"stopped at {address:#x}, where no function begins")
        order.setdefault(known[address])
    if (address := address_of_next_stop()) != quiet:
        raise gdb.GdbError(f"the release was not over: {known[address][0]} was entered later")
    for stop in stops:
        if stop.is_valid():
            stop.delete()
    gdb.execute("continue", to_string=True)
    if gdb.parse_and_eval("$_exitcode") != 0:
        raise gdb.GdbError("the program failed")
    return list(order)


def main():
    way = entered(gdb.current_progspace().filename)
    folders = [os.path.dirname(file) for _, file, _ in way]
    changes = [(here, there) for here, there in zip(folders, folders[1:]) if here != there]
    with open(os.environ["WALK_LIST"], "w", encoding="utf-8") as out:
        for name, file, line in way:
            print(f"{file}:{line} {name}", file=out)
        print(f"\nfunctions, of {len(set(folders))} folders:", file=out)
        for folder, count in collections.Counter(folders).most_common(15):
            print(f"{count:5} {folder}", file=out)
        print("\nmost frequent changes of folder:", file=out)
        for (here, there), count in collections.Counter(changes).most_common(15):
            print(f"{count:5} {here} -> {there}", file=out)
        print(f"\n{len(way)} functions, {len(changes)} changes of folder", file=out)


gdb.execute("set confirm off")
gdb.execute("set pagination off")
# `&'name'` is read as C.
gdb.execute("set language c")
# Otherwise all are taken out and put back at each stop.
gdb.execute("set breakpoint always-inserted on")
main()
