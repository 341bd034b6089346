#!/usr/bin/env python3
"""Learns isa/sass/encoding/decode_rows.inc, the table of the decoder of machine code, from nvdisasm.

    learn_decode_table.py --nvdisasm PATH --output isa/sass/encoding/decode_rows.inc FILE...

Words come from the cubins, fat binaries, programs and wheels named, and from variations of those words. The words of one
opcode whose texts differ in numbers alone make a row: which bits hold which number is what agrees with every word; the
other bits that never change are what the row asks for. A row that claims a word of another text is split on a bit.
A row reads: architectures, mask, value, kind of guard, text with its numbers at zero, fields (operand.member=kind:position:width).
"""
import argparse
import collections
import pathlib
import re
import struct
import sys

import machine_code

GUARD = 0xF << 12
REUSE = 0xF << 122
OPCODE = 0xFFF
REGISTER = re.compile(r"(UR|R|UP|P|SB|B)(\d+|Z|T)$")  # as isa/sass/instruction_text.cpp names them
INTEGER = re.compile(r"[-+]?0x[0-9a-f]+$")
FLOAT = re.compile(r"[-+]?(\d+(\.\d*)?(e[-+]?\d+)?|INF|QNAN|SNAN)$")
JUMPS = ("BRA", "BSSY", "CALL", "JMP", "RET", "BRX", "JMX", "WARPSYNC", "LEPC")


def split(text):
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        if depth == 0 and c in ", ":
            if part:
                parts.append(part)
            part = ""
        else:
            part += c
            if c == "]" and depth == 0 and part[0] == "[":
                parts.append(part)
                part = ""
    # What follows a bracket without a comma belongs to it, unless it is an address of its own.
    if part:
        parts.append(part)
    merged = []
    for one in parts:
        if one[0] == "." and merged:
            merged[-1] += one
        else:
            merged.append(one)
    return merged


def address(body, number, slots):
    """Canonical form of what stands between brackets."""
    base, uniform, offset, suffix = 255, -1, 0, ""
    for term in re.findall(r"[+-]?[^+-]+|[+-]+[^+-]+", body):
        sign = -1 if "-" in term[:2] and term[0] in "+-" else 1
        name, _, rest = term.lstrip("+-").partition(".")
        found = REGISTER.match(name)
        if found and found[1] == "UR":
            uniform = -1 if found[2] == "Z" else int(found[2])
            suffix += "+" + rest if rest else ""
        elif found:
            base = 255 if found[2] == "Z" else int(found[2])
            suffix += "." + rest if rest else ""
        elif INTEGER.match(name):
            offset += sign * int(name, 16)
        else:
            return None
    slots[number, "base"] = ("r", base)
    slots[number, "uniform_base"] = ("u", uniform)
    slots[number, "value"] = ("i", offset)
    return suffix


def analyse(text, place):
    """(guard, skeleton, slots): slots are {(operand, member): (kind, value)}; None for text of no known form."""
    guard = ""
    text = re.sub(r"(c\[0x[0-9a-f]+\]) \[", r"\1[", text)
    if text[0] == "@":
        guard, _, text = text.partition(" ")
        guard = "U" if "U" in guard else "P"
        text = text.lstrip()
    opcode, _, rest = text.partition(" ")
    mnemonic = opcode.split(".")[0]
    slots, shape = {}, []
    for number, part in enumerate(split(rest)):
        part = part.replace(".reuse", "")
        if FLOAT.match(part) or INTEGER.match(part):
            if INTEGER.match(part):
                if mnemonic in JUMPS:
                    slots[number, "value"] = ("t", (int(part, 16), int(part, 16) - place - 16))
                else:
                    slots[number, "value"] = ("i", int(part, 16))
                shape.append("0x0")
            else:
                slots[number, "value"] = ("f", part)
                shape.append("1.5")
            continue
        flags = {"negated": 0, "inverted": 0, "absolute": 0}
        while part and part[0] in "-~!":
            flags["inverted" if part[0] == "~" else "negated"] = 1
            part = part[1:]
        if not part:
            return None
        tail = ""
        if part[0] == "|":
            body, _, tail = part[1:].partition("|")
            part = body + tail
            flags["absolute"] = 1
        bang = ""
        head, dot, suffix = part.partition(".")
        found = REGISTER.match(head)
        if found:
            kind, index = found[1], found[2]
            if kind == "R":
                slots[number, "index"] = ("r", 255 if index == "Z" else int(index))
            elif kind == "UR":
                slots[number, "index"] = ("u", -1 if index == "Z" else int(index))
            elif kind in ("P", "UP"):
                slots[number, "index"] = ("p", 7 if index == "T" else int(index))
            else:
                slots[number, "index"] = ("i", int(index)) if index.isdigit() else ("i", 15)
            for name, value in flags.items():
                slots[number, name] = ("b", value)
            shape.append(kind + "0" + dot + suffix)
            continue
        match = re.match(r"c\[(0x[0-9a-f]+)\]\[([^\]]*)\](.*)$", part) or re.match(r"cx\[(UR\d+|URZ)\]\[([^\]]*)\](.*)$", part)
        if match:
            if part[1] == "x":
                slots[number, "descriptor"] = ("u", -1 if match[1] == "URZ" else int(match[1][2:]))
                bang = "cx[UR0]"
            else:
                slots[number, "bank"] = ("i", int(match[1], 16))
                bang = "c[0x0]"
            suffix = address(match[2], number, slots)
            if suffix is None:
                return None
            for name, value in flags.items():
                slots[number, name] = ("b", value)
            shape.append(bang + "[R0" + suffix + "]" + match[3])
            continue
        match = re.match(r"(desc|gdesc)\[(UR\d+|URZ)\](.*)$", part)
        prefix = ""
        if match:
            slots[number, "descriptor"] = ("u", -1 if match[2] == "URZ" else int(match[2][2:]))
            prefix, part = match[1] + "[UR0]", match[3]
            if not part.startswith("["):
                shape.append(prefix + part)
                continue
        match = re.match(r"\[([^\]]*)\](.*)$", part)
        if match:
            suffix = address(match[1], number, slots)
            if suffix is None:
                return None
            shape.append(prefix + "[R0" + suffix + "]" + match[2])
            continue
        if any(flags.values()):
            return None
        shape.append(part)
    return guard, opcode + (" " + ", ".join(shape) if shape else ""), slots


def bits(word, position, width):
    return word >> position & ((1 << width) - 1)


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def number_text(kind, value):
    if kind == "h":
        return struct.unpack("<e", struct.pack("<H", value))[0]
    if kind == "g":
        return struct.unpack("<f", struct.pack("<I", value << 16))[0]
    if kind == "d":
        return struct.unpack("<d", struct.pack("<Q", value << 32))[0]
    return struct.unpack("<f", struct.pack("<I", value))[0]


def float_agrees(kind, width, value, text):
    number = number_text(kind, value)
    if "NAN" in text:
        return number != number
    if "INF" in text:
        return number in (float("inf"), float("-inf")) and (number < 0) == (text[0] == "-")
    return number == number and number == float(text)


FIELDS = {
    "r": [("r", p, 8) for p in (16, 24, 32, 64, 40, 56, 72, 80)],
    "u": [("u", p, w) for w in (6, 8) for p in (16, 24, 32, 64, 40, 48, 56, 72, 80)] + [("u", p, w) for w in (6, 8) for p in range(16, 98)],
    "p": [("p", p, 3) for p in (81, 84, 87, 77, 68, 24, 16)] + [("p", p, 3) for p in range(16, 103)],
    "b": [("b", p, 1) for p in range(24, 105)],
    "f": [("f", 32, 32), ("d", 32, 32), ("h", 32, 16), ("h", 48, 16), ("g", 32, 16), ("g", 48, 16)],
    "i": [("s", 32, 32), ("i", 32, 32), ("s", 40, 24), ("i", 40, 24), ("s", 34, 48), ("i", 38, 16), ("i4", 40, 14), ("s", 38, 17), ("i", 54, 5), ("i", 72, 8), ("i", 40, 14), ("s", 64, 24),
          ("s", 40, 16), ("s", 40, 20), ("i", 40, 20)] +
         [(k, p, w) for w in (24, 20, 17, 16, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1) for p in range(16, 105 - w) for k in ("i", "s", "i4")],
    "t": [("t8", 34, 48), ("a8", 34, 48), ("t4", 34, 48), ("t4", 34, 30), ("s", 34, 48), ("s", 32, 50), ("t", 32, 50), ("t", 32, 32), ("i", 32, 32), ("i4", 34, 48), ("t4", 16, 8)],
}


def agrees(field, word, value):
    kind, position, width = field
    raw = bits(word, position, width)
    if kind in "rpb":
        return raw == value
    if kind == "u":
        return raw == (value if value >= 0 else (1 << width) - 1)
    if kind == "i":
        return raw == (value[0] if isinstance(value, tuple) else value)
    if kind == "s":
        return signed(raw, width) == (value[0] if isinstance(value, tuple) else value)
    if kind == "i4":
        return raw * 4 == (value[0] if isinstance(value, tuple) else value)
    if kind == "t":
        return signed(raw, width) == value[1]
    if kind in ("t8", "a8"):  # eight lower bits stand at 16
        return (signed(raw, width) << 8 | bits(word, 16, 8)) * 4 == value[kind == "t8"]
    if kind == "t4":
        return signed(raw, width) * 4 == value[1]
    return float_agrees(kind, width, raw, value)


def structure(shape):
    """The operands of a text without its modifiers."""
    opcode, _, operands = shape.partition(" ")
    return opcode.split(".")[0], re.sub(r"\.[A-Za-z0-9_.]+", "", operands)


class Row:
    """Words of one text but for its numbers."""

    def __init__(self, shape, examples, hints=None):
        self.shape, self.examples, self.fields, self.fixed, self.trouble = shape, examples, {}, {}, None
        used = 0
        for key in examples[0][1]:
            values = [slots[key] for _, slots in examples]
            kind = values[0][0]
            if any(k != kind for k, _ in values):
                self.trouble = key
                return
            same = all(v == values[0] for v in values)
            if kind == "t":
                same = False
            hint = hints.get((structure(shape), key)) if hints else None
            if same and hint and all(agrees(hint, word, value[1]) for (word, _), value in zip(examples, values)):
                self.fields[key] = hint
                used |= ((1 << hint[2]) - 1) << hint[1]
                continue
            if same and kind != "f":
                self.fixed[key] = values[0][1]
                continue
            found = None
            for field in FIELDS[kind]:
                if all(agrees(field, word, value[1]) for (word, _), value in zip(examples, values)):
                    found = field
                    break
            if found is None:
                self.trouble = key
                return
            self.fields[key] = found
            used |= ((1 << found[2]) - 1) << found[1] | (0xFF << 16 if found[0] in ("t8", "a8") else 0)
        ones = zeros = (1 << 128) - 1
        for word, _ in examples:
            ones &= word
            zeros &= ~word
        self.mask = (ones | zeros) & ~used & machine_code.TEXT_BITS & ~REUSE & ~GUARD
        self.value = ones & self.mask
        self.strength = bin(self.mask).count("1")
        self.guard = ""

    def claims(self, word):
        return word & self.mask == self.value


def split_on_bit(examples, used=0):
    """Two halves by the bit, of those that change, which splits most evenly; [] when none changes."""
    best, choice = 0, None
    for position in list(range(72, 105)) + list(range(16, 72)):
        if used >> position & 1:
            continue
        count = sum(word >> position & 1 for word, _ in examples)
        if min(count, len(examples) - count) > best:
            best, choice = min(count, len(examples) - count), position
    if choice is None:
        return []
    return [[e for e in examples if e[0] >> choice & 1 == side] for side in (0, 1)]


def make_rows(shape, examples, hints=None):
    row = Row(shape, examples, hints)
    if row.trouble is None:
        return [row]
    key = row.trouble
    values = {slots[key] for _, slots in examples}
    if len(values) <= 4:
        halves = [[e for e in examples if e[1][key] == value] for value in values]
        if len(halves) > 1:
            return [r for half in halves for r in make_rows(shape, half, hints)]
    halves = split_on_bit(examples)
    if not halves:
        print("no fields for", shape, key, sorted(values, key=str)[:4], file=sys.stderr)
        return []
    return [r for half in halves for r in make_rows(shape, half, hints)]


def learn(examples):
    """Rows from [(word, place, text)] of one architecture."""
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    guards = collections.defaultdict(set)
    for word, place, text in examples:
        result = analyse(text, place)
        if result is None:
            print("not understood:", text, file=sys.stderr)
            continue
        guard, shape, slots = result
        groups[word & OPCODE][shape].append((word, slots))
        guards[word & OPCODE].add(guard)
    rows = []
    for opcode, shapes in groups.items():
        mine = [r for shape, es in shapes.items() for r in make_rows(shape, es)]
        # Where a number stands in one row it stands in others of the opcode with the same operands.
        votes = collections.defaultdict(collections.Counter)
        for row in mine:
            for key, field in row.fields.items():
                votes[structure(row.shape), key][field] += len(row.examples)
        hints = {key: fields.most_common(1)[0][0] for key, fields in votes.items()}
        mine = [r for shape, es in shapes.items() for r in make_rows(shape, es, hints)]
        for _ in range(60):
            mine.sort(key=lambda r: -r.strength)
            wrong = collections.Counter()
            for row in mine:
                for word, _ in row.examples:
                    first = next(r for r in mine if r.claims(word))
                    if first is not row and first.shape != row.shape:
                        wrong[id(first)] += 1
            if not wrong:
                break
            after = []
            for row in mine:
                halves = []
                if id(row) in wrong:
                    used = 0
                    for field in row.fields.values():
                        used |= ((1 << field[2]) - 1) << field[1]
                    halves = split_on_bit(row.examples, used) or split_on_bit(row.examples)
                after += [r for half in halves for r in make_rows(row.shape, half, hints)] if halves else [row]
            if len(after) == len(mine):
                break
            mine = after
        guard = (guards[opcode] - {""} or {"-"}).pop()
        for row in mine:
            row.guard = guard
            if guard == "-":  # never seen with one: the table has it without alone
                words = {word & GUARD for word, _ in row.examples}
                if len(words) == 1:
                    row.mask |= GUARD
                    row.value |= words.pop()
        rows += mine
    return rows


def apply_fixed(row):
    """The row's text, with operands that never changed as they are."""
    return row.shape, [f"{n}.{member}=k:{value}" for (n, member), value in sorted(row.fixed.items()) if not (member in ("negated", "inverted", "absolute") and value == 0)]


def variations(row):
    """Words near one of the row's words."""
    for word in {row.examples[0][0], row.examples[-1][0]}:
        yield word & ~GUARD
        for position in (16, 24, 32, 40, 64):
            yield word ^ 0x15 << position
        for position in (62, 63, 68, 72, 73, 74, 75, 81, 84, 87, 90):
            yield word ^ 1 << position
    for field in row.fields.values():
        mask = ((1 << field[2]) - 1) << field[1]
        if field[2] >= 16:
            yield word | mask
            yield word ^ 1 << (field[1] + field[2] - 1)


def row_text(row):
    fields = [f"{n}.{member}={kind}:{position}:{width}" for (n, member), (kind, position, width) in sorted(row.fields.items())]
    shape, fixed = apply_fixed(row)
    return f"{row.mask:x}\t{row.value:x}\t{row.guard}\t{shape}\t{' '.join(fields + fixed)}"


def write(tables, output):
    lines = sorted((int(line.split("\t")[1], 16) & OPCODE, -bin(int(line.split("\t")[0], 16)).count("1"), line, archs) for line, archs in tables.items())
    with output.open("w") as file:
        file.write("// Made by scripts/sass/learn_decode_table.py: architectures, mask, value, guard, text, fields.\n")
        for _, _, line, archs in lines:
            file.write(f'R"({",".join(map(str, sorted(set(archs))))}\t{line})" "\\n"\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--architectures", default="80,86,89,90,75,100,120")
    parser.add_argument("--rounds", type=int, default=1, help="how often words near those of the table are looked at")
    parser.add_argument("--words", help="a folder of corpus<architecture>.pkl, lists of words, in place of files")
    parser.add_argument("--merge", action="store_true", help="the files are tables of this script, which become one")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    tables = collections.defaultdict(list)
    if options.merge:
        for file in options.files:
            for line in pathlib.Path(file).read_text().splitlines():
                if line.startswith('R"('):
                    architectures, _, row = line[3:line.rindex(')"')].partition("\t")
                    tables[row] += map(int, architectures.split(","))
        return write(tables, options.output)
    wanted = [int(a) for a in options.architectures.split(",")]
    corpus = collections.defaultdict(set)
    if options.words:
        import pickle
        for architecture in wanted:
            corpus[architecture] |= set(pickle.loads((pathlib.Path(options.words) / f"corpus{architecture}.pkl").read_bytes()))
    for file in options.files:
        for cubin in machine_code.cubins_of(file):
            corpus[machine_code.architecture_of(cubin)].update(word & machine_code.TEXT_BITS for word in machine_code.code_of(cubin))
    for architecture in wanted:
        words = sorted(corpus[architecture])
        examples, known = [], set()

        def add(more):
            texts = machine_code.disassemble(more, architecture, options.nvdisasm)
            for place, (word, text) in enumerate(zip(more, texts)):
                if text and "INVALID" not in text and "???" not in text:
                    examples.append((word, place % 20000 * 16, text))
            known.update(more)

        add(words)
        rows = learn(examples)
        print(architecture, len(words), "words,", len(rows), "rows", file=sys.stderr, flush=True)
        for _ in range(options.rounds):
            add(sorted({w & machine_code.TEXT_BITS for row in rows for w in variations(row)} - known))
            rows = learn(examples)
            print(architecture, len(examples), "words,", len(rows), "rows", file=sys.stderr, flush=True)
        for row in rows:
            tables[row_text(row)].append(architecture)
    write(tables, options.output)


if __name__ == "__main__":
    main()
