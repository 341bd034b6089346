#!/usr/bin/env python3
"""Learns isa/sass/encoding/decode_rows.inc, the table of the decoder of machine code, from nvdisasm.

    learn_decode_table.py --nvdisasm PATH --architecture 80 --output ROWS WORDS...
    learn_decode_table.py --merge --output isa/sass/encoding/decode_rows.inc ROWS...

WORDS are cubins, fat binaries, programs and wheels, or files of 16 bytes per instruction (.bin). Words whose texts differ in
numbers alone are a form of an opcode. nvdisasm is asked for the text of a few words of each form and for those that differ from them
in one bit: a bit is a part of a number, chooses the form, or says nothing. Forms that one bit leads to are learnt as well
(--rounds). Random words of each form are then compared, and rows that read one of them wrong are narrowed, or dropped.
A field reads operand.member=kind:position:width:shift[+position:width:shift...]; the number is the sum of its parts, unsigned (i),
signed (s), from behind the instruction (t), of a uniform register (u), or of one bit that says no (n).
"""
import argparse
import collections
import pathlib
import random
import re
import struct
import sys

import machine_code

GUARD = 0xF << 12
ALWAYS = 0x7 << 12
OPCODE = 0xFFF
REUSE = range(122, 126)
BITS = [b for b in range(9, 126) if machine_code.TEXT_BITS >> b & 1 and not 12 <= b < 16]
REGISTER = re.compile(r"(UR|R|UP|P|SB|B)(\d+|Z|T)$")  # as isa/sass/instruction_text.cpp names them
INTEGER = re.compile(r"[-+]?0x[0-9a-f]+$")
FLOAT = re.compile(r"[-+]?(\d+(\.\d*)?(e[-+]?\d+)?|INF|QNAN|SNAN)$")
CONSTANT = re.compile(r"(c|cx)\[(0x[0-9a-f]+|UR\d+|URZ)\]\[([^\]]*)\](.*)$")
DESCRIPTOR = re.compile(r"(desc|gdesc|idesc)\[(UR\d+|URZ)\](.*)$")
BRACKETS = re.compile(r"\[([^\]]*)\](.*)$")
GAP = re.compile(r"(cx?\[[^\]]*\]) \[")  # some instructions have a space within a constant
USES = re.compile(r"IMAD\.(MOV|IADD|SHL)\b")
TERM = re.compile(r"[+-]?[^+-]+|[+-]+[^+-]+")
USUAL = {"negated": 0, "inverted": 0, "absolute": 0, "reuse": 0, "uniform_base": -1}  # what need not be said
PLACES = 20000  # words in one call of nvdisasm


def split(text):
    """The operands of an instruction."""
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
    if part:
        parts.append(part)
    merged = []  # what follows a bracket without a comma belongs to it, unless it is an address of its own
    for one in parts:
        if one[0] == "." and merged:
            merged[-1] += one
        else:
            merged.append(one)
    return merged


def number_of(found, zero, zero_value):
    return zero_value if found == zero else int(found)


def address(body, number, slots):
    """Notes what stands between brackets and returns its suffixes; None for what is not understood."""
    base, uniform, offset, suffix, of_uniform = 255, -1, 0, "", ""
    for term in TERM.findall(body):
        sign = -1 if term[0] in "+-" and "-" in term[:2] else 1
        name, _, rest = term.lstrip("+-").partition(".")
        found = REGISTER.match(name)
        if found and found[1] == "UR":
            uniform = number_of(found[2], "Z", -1)
            of_uniform = "+UR0." + rest if rest else ""
        elif found and found[1] == "R" and base == 255:
            base = number_of(found[2], "Z", 255)
            suffix += "." + rest if rest else ""
        elif INTEGER.match(name):
            offset += sign * int(name, 16)
        else:
            return None
    slots[number, "base"] = ("r", base)
    slots[number, "uniform_base"] = ("u", uniform)
    slots[number, "value"] = ("i", offset)
    # A number by itself is read without a sign, one that is added to a register with one: these are two forms.
    return ("RZ" if base == 255 and uniform == -1 else "R0") + suffix + of_uniform


def analyse(text):
    """(guard, shape, slots): slots are {(operand, member): (kind, value)}; None for text of no known form."""
    text = GAP.sub(r"\1[", text, count=1)
    guard = ""
    if text[0] == "@":
        guard, _, text = text.partition(" ")
        guard = "U" if "U" in guard else "P"
        text = text.lstrip()
    opcode, _, rest = text.partition(" ")
    if opcode.startswith("IMAD."):  # names of what a multiplication is used for, which follow from its operands
        opcode = USES.sub("IMAD", opcode, count=1)
    slots, shape = {}, []
    for number, part in enumerate(split(rest)):
        reuse = ".reuse" in part
        if reuse:
            part = part.replace(".reuse", "", 1)
        if INTEGER.match(part):
            slots[number, "value"] = ("i", int(part, 16))
            shape.append("0x0")
            continue
        if FLOAT.match(part):
            slots[number, "value"] = ("f", part)
            shape.append("1.5")
            continue
        flags = {"negated": 0, "inverted": 0, "absolute": 0, "reuse": int(reuse)}
        while part and part[0] in "-~!":
            flags["inverted" if part[0] == "~" else "negated"] = 1
            part = part[1:]
        if not part:
            return None
        if part[0] == "|":
            body, _, tail = part[1:].partition("|")
            part = body + tail
            flags["absolute"] = 1
        head, dot, suffix = part.partition(".")
        found = REGISTER.match(head)
        if found:
            kind, index = found[1], found[2]
            if kind == "R":
                slots[number, "index"] = ("r", number_of(index, "Z", 255))
            elif kind == "UR":
                slots[number, "index"] = ("u", number_of(index, "Z", -1))
            elif kind in ("P", "UP"):
                slots[number, "index"] = ("p", number_of(index, "T", 7))
            elif index.isdigit():
                slots[number, "index"] = ("i", int(index))
            else:
                return None
            for name, value in flags.items():
                slots[number, name] = ("b", value)
            shape.append(kind + "0" + dot + suffix)
            continue
        match = CONSTANT.match(part)
        if match:
            if match[1] == "cx":
                slots[number, "descriptor"] = ("u", number_of(match[2][2:], "Z", -1))
                prefix = "cx[UR0]"
            else:
                slots[number, "bank"] = ("i", int(match[2], 16))
                prefix = "c[0x0]"
            suffix = address(match[3], number, slots)
            if suffix is None:
                return None
            for name, value in flags.items():
                slots[number, name] = ("b", value)
            shape.append(prefix + "[" + suffix + "]" + match[4])
            continue
        prefix = ""
        if part.startswith("tmem["):
            prefix, part = "tmem", part[4:]
        match = DESCRIPTOR.match(part)
        if match:
            slots[number, "descriptor"] = ("u", number_of(match[2][2:], "Z", -1))
            prefix, part = match[1] + "[UR0]", match[3]
            if not part.startswith("["):
                if any(flags.values()):
                    return None
                shape.append(prefix + part)
                continue
        match = BRACKETS.match(part)
        if match:
            suffix = address(match[1], number, slots)
            if suffix is None or any(flags.values()):
                return None
            shape.append(prefix + "[" + suffix + "]" + match[2])
            continue
        if any(flags.values()) or prefix or not re.fullmatch(r"[A-Za-z0-9_.{},:]+", part):
            return None
        shape.append(part)
    return guard, opcode + (" " + ", ".join(shape) if shape else ""), slots


def bits(word, position, width):
    return word >> position & ((1 << width) - 1)


def float_agrees(mode, raw, text):
    if mode == "h":
        number = struct.unpack("<e", struct.pack("<H", raw))[0]
    elif mode == "g":
        number = struct.unpack("<f", struct.pack("<I", raw << 16))[0]
    elif mode == "d":
        number = struct.unpack("<d", struct.pack("<Q", raw << 32))[0]
    else:
        number = struct.unpack("<f", struct.pack("<I", raw))[0]
    if "NAN" in text:
        return number != number
    if "INF" in text:
        return number in (float("inf"), float("-inf")) and (number < 0) == (text[0] == "-")
    return number == number and number == float(text)


class Field:
    """Where a number stands: segments (position, width, shift); what is read is their sum."""

    def __init__(self, kind, segments, floating=""):
        self.kind, self.segments, self.floating = kind, segments, floating

    def used(self):
        return sum(((1 << width) - 1) << position for position, width, _ in self.segments)

    def read(self, word, place):
        value = sum(bits(word, position, width) << shift for position, width, shift in self.segments)
        width = max(width + shift for _, width, shift in self.segments)
        if self.kind in "st" and value >> (width - 1):
            value -= 1 << width
        if self.kind == "t":
            return value + place + 16
        if self.kind == "u" and value == (1 << width) - 1:
            return -1
        return value ^ 1 if self.kind == "n" else value

    def agrees(self, word, place, value):
        if self.floating:
            return float_agrees(self.floating, self.read(word, place), value)
        return self.read(word, place) == value

    def text(self):
        return (self.floating or self.kind) + ":" + "+".join(f"{position}:{width}:{shift}" if shift else f"{position}:{width}" for position, width, shift in self.segments)


def fit_index(kind, effects, examples, key):
    """The field of a register's number: one bit changes one bit of it."""
    votes, places = collections.Counter(), {}
    for bit, changes in effects.items():
        for old, new, _ in changes:
            for ones in ((255,) if kind == "r" else (7,) if kind == "p" else (63, 255)):
                difference = (ones if old == -1 else old) ^ (ones if new == -1 else new)
                if difference & (difference - 1) == 0 and difference and (ones == 63 or kind != "u" or -1 in (old, new)):
                    place = difference.bit_length() - 1
                    votes[bit - place] += 1
                    places.setdefault(bit - place, set()).add(place)
                    break
    if not votes:
        return None
    position = votes.most_common(1)[0][0]
    width = max(places[position]) + 1
    if kind in "rp" and width != (8 if kind == "r" else 3):
        return None
    field = Field("u" if kind == "u" else "i", [(position, width, 0)])
    return field if all(field.agrees(word, place, slots[key][1]) for word, place, slots in examples) else None


def fit_integer(effects, examples, key):
    """The field of a number: each bit has a weight, a power of two."""
    weights = {}
    for bit, changes in effects.items():
        weight = {(new - old) * (-1 if was else 1) for old, new, was in changes}
        if len(weight) == 1:
            weights[bit] = weight.pop()
    weights = {bit: w for bit, w in weights.items() if w and abs(w) & (abs(w) - 1) == 0}
    if not weights:
        return None
    order = sorted(weights, key=lambda bit: abs(weights[bit]))
    if len({abs(w) for w in weights.values()}) != len(weights) or any(weights[bit] < 0 for bit in order[:-1]):
        return None
    is_signed = weights[order[-1]] < 0
    segments = []
    for bit in order:
        shift = abs(weights[bit]).bit_length() - 1
        if segments and segments[-1][0] + segments[-1][1] == bit and segments[-1][2] + segments[-1][1] == shift:
            segments[-1] = (segments[-1][0], segments[-1][1] + 1, segments[-1][2])
        else:
            segments.append((bit, 1, shift))
    for kind in ("s", "t") if is_signed else ("i",):
        field = Field(kind, segments)
        if all(field.agrees(word, place, slots[key][1]) for word, place, slots in examples):
            return field
    return None


def fit_float(effects, examples, key):
    for mode, position, width in (("h", 32, 16), ("g", 32, 16), ("h", 48, 16), ("g", 48, 16), ("f", 32, 32), ("d", 32, 32)):
        if any(not position <= bit < position + width for bit in effects):
            continue
        field = Field("i", [(position, width, 0)], mode)
        if all(field.agrees(word, place, slots[key][1]) for word, place, slots in examples):
            return field
    return None


def fit_flag(effects, examples, key, shaping):
    if len(effects) != 1:
        return None
    bit = next(iter(effects))
    if bit in shaping:
        return None
    for kind in "in":
        field = Field(kind, [(bit, 1, 0)])
        if all(field.agrees(word, place, slots[key][1]) for word, place, slots in examples):
            return field
    return None


def read_field(text):
    kind, _, rest = text.partition(":")
    segments = []
    for one in rest.split("+"):
        position, width, shift = (list(map(int, one.split(":"))) + [0])[:3]
        segments.append((position, width, shift))
    return Field(kind, segments) if kind in "istun" else Field("i", segments, kind)


class Row:
    def __init__(self, opcode, shape, guard, mask, value, fields, literals, free, seed):
        self.opcode, self.shape, self.guard, self.mask, self.value = opcode, shape, guard, mask, value
        self.fields, self.literals, self.free, self.seed = fields, literals, free, seed
        self.strength = bin(mask).count("1")
        self.given = False  # from the table that was there at the start

    @classmethod
    def of_text(cls, line):
        """The row that text() wrote."""
        mask, value, guard, shape, fields, literals = line.split("\t")
        mask, value = int(mask, 16), int(value, 16)

        def pairs(text):
            for one in text.split():
                place, _, rest = one.partition("=")
                operand, _, member = place.partition(".")
                yield (int(operand), member), rest

        read = {key: read_field(rest) for key, rest in pairs(fields)}
        numbers = {key: int(rest) for key, rest in pairs(literals)}
        for operand in range(16):  # what text() leaves out
            for member, usual in USUAL.items():
                if (operand, member) not in read:
                    numbers.setdefault((operand, member), usual)
        free = machine_code.TEXT_BITS & ~mask & ~GUARD
        for field in read.values():
            free &= ~field.used()
        return cls(value & OPCODE, shape, guard, mask, value, read, numbers, free, value if mask & GUARD else value | ALWAYS)

    def claims(self, word):
        return word & self.mask == self.value

    def order(self):
        """Rows that ask for most bits come first, as in isa/sass/decode_table.cpp."""
        return -self.strength, self.mask, self.value

    def reads(self, word, place, guard, shape, slots):
        if shape != self.shape or (guard and guard != self.guard):
            return False
        for key, (_, value) in slots.items():
            field = self.fields.get(key)
            if field is None:
                if self.literals.get(key) != value:
                    return False
            elif not field.agrees(word, place, value):
                return False
        return True

    def text(self):
        fields = [f"{n}.{member}={field.text()}" for (n, member), field in sorted(self.fields.items())]
        literals = [f"{n}.{member}={value}" for (n, member), value in sorted(self.literals.items()) if value != USUAL.get(member)]
        return f"{self.mask:x}\t{self.value:x}\t{self.guard}\t{self.shape}\t{' '.join(fields)}\t{' '.join(literals)}"

    def random_word(self):
        """Some word that the row claims."""
        word = self.seed if random.random() < 0.5 else self.value | self.seed & ~self.mask
        for field in self.fields.values():
            if random.random() < 0.3:
                continue
            for position, width, _ in field.segments:
                value = random.choice((0, (1 << width) - 1, 1 << (width - 1), random.getrandbits(width), random.getrandbits(width), random.getrandbits(width)))
                word = word & ~(((1 << width) - 1) << position) | value << position
        if random.random() < 0.3:
            word ^= random.getrandbits(128) & self.free
        if self.guard != "-" and random.random() < 0.5:
            word = word & ~GUARD | random.getrandbits(4) << 12
        return word


class Learner:
    def __init__(self, architecture, nvdisasm, samples):
        self.architecture, self.nvdisasm, self.samples = architecture, nvdisasm, samples
        self.groups = collections.defaultdict(list)  # (opcode, shape) -> words that are known to be of it
        self.ones, self.zeros = {}, {}               # bits that are the same in all words of a group
        self.rows = collections.defaultdict(list)    # opcode -> rows, those that are asked first in front
        self.found = {}                              # (opcode, shape) -> a word that a bit led to
        self.pending = []                            # words in which a register is RZ, or a predicate PT
        self.dropped = []
        self.confused = collections.Counter()        # what a row read and what it was
        self.not_understood = collections.Counter()

    def read(self, words):
        """(place, analysis or None) of each word."""
        result = []
        for begin in range(0, len(words), PLACES):
            batch = words[begin:begin + PLACES]
            for place, text in enumerate(machine_code.disassemble(batch, self.architecture, self.nvdisasm)):
                analysis = None
                if text and "INVALID" not in text and "???" not in text:
                    analysis = analyse(text)
                    if analysis is None:
                        self.not_understood[re.sub(r"\d+", "0", text)] += 1
                result.append((place * 16, analysis))
        return result

    def add(self, words):
        """Words of programs: a few of each form are kept, and which bits are the same in all."""
        for word, (_, analysis) in zip(words, self.read(words)):
            if analysis is None:
                continue
            key = word & OPCODE, analysis[1]
            mine = self.groups[key]
            self.ones[key] = self.ones.get(key, -1) & word
            self.zeros[key] = self.zeros.get(key, -1) & ~word
            if len(mine) < self.samples:
                mine.append(word)
            elif random.random() < self.samples / 50:
                mine[random.randrange(self.samples)] = word

    def learn_groups(self, keys):
        """Rows of these groups, in place of what they had, and of the forms that they take when a register is RZ or a predicate PT."""
        self._learn_groups(list(keys))
        for _ in range(3):
            new = {}
            for word, (_, analysis) in zip(self.pending, self.read(self.pending)):
                if analysis is not None and (word & OPCODE, analysis[1]) not in self.groups:
                    new[word & OPCODE, analysis[1]] = word
            self.pending = []
            for key, word in new.items():
                self.groups[key] = [word]
            self._learn_groups(new)

    def _learn_groups(self, keys):
        chunk = []
        for key in keys:
            self.rows[key[0]] = [row for row in self.rows[key[0]] if row.shape != key[1] or row.given]
            chunk.append(key)
            if len(chunk) * self.samples * len(BITS) > 60000:
                self._learn_chunk(chunk)
                chunk = []
        if chunk:
            self._learn_chunk(chunk)

    def _learn_chunk(self, keys):
        asked = []
        for key in keys:
            for word in self.groups[key]:
                word = word & ~GUARD | ALWAYS
                asked.append(word)
                asked.append(word & ~GUARD)
                asked += [word ^ 1 << bit for bit in BITS]
        answers = self.read(asked)
        step, at = len(BITS) + 2, 0
        for key in keys:
            examples = []
            for _ in self.groups[key]:
                examples.append((asked[at], answers[at], answers[at + 1], answers[at + 2:at + step]))
                at += step
            self._learn_group(key, examples)

    def _learn_group(self, key, examples):
        opcode, shape = key
        examples = [one for one in examples if one[1][1] is not None and one[1][1][1] == shape]
        if not examples:
            return
        guards = {without[1][0] for _, _, without, _ in examples if without[1] is not None and without[1][1] == shape}
        guard = (guards - {""} or {"-"}).pop()
        effects = collections.defaultdict(lambda: collections.defaultdict(list))  # slot -> bit -> changes
        touched, shaping, refused = collections.defaultdict(set), set(), set()
        for word, (_, (_, _, slots)), _, flips in examples:
            for bit, (_, analysis) in zip(BITS, flips):
                if analysis is None:
                    refused.add(bit)
                elif analysis[1] != shape:
                    shaping.add(bit)
                    other = (word ^ 1 << bit) & OPCODE, analysis[1]
                    if other not in self.groups and other not in self.found:
                        self.found[other] = word ^ 1 << bit
        plain = [(word, place, slots) for word, (place, (_, _, slots)), _, _ in examples]
        for slot, (kind, _) in plain[0][2].items():
            if any(slots[slot][0] != kind for _, _, slots in plain):
                return
            # A position in code is told from where the instruction stands, so that all bits change it.
            same = [(word, bit, place, slots[slot][1], flip_place, analysis[2][slot][1]) for word, (place, (_, _, slots)), _, flips in examples
                    for bit, (flip_place, analysis) in zip(BITS, flips) if analysis is not None and analysis[1] == shape and analysis[2][slot][0] == kind]
            word, (_, (_, _, slots)), (_, with_guard), _ = examples[0]
            if with_guard is not None and with_guard[1] == shape:
                relative = kind == "i" and with_guard[2][slot][1] != slots[slot][1]
            else:
                relative = kind == "i" and sum(value != new for _, _, _, value, _, new in same) * 2 > len(same) > 0
            for word, bit, place, value, flip_place, new in same:
                if relative:
                    value, new = value - place, new - flip_place
                if value != new:
                    effects[slot][bit].append((value, new, word >> bit & 1))
                    touched[bit].add(slot)
        fields = {}
        for slot in plain[0][2]:
            kind = plain[0][2][slot][0]
            if not effects[slot]:
                continue
            near = plain + [(word ^ 1 << bit, flip_place, analysis[2]) for word, _, _, flips in examples for bit, (flip_place, analysis) in zip(BITS, flips)
                            if kind == "f" and analysis is not None and analysis[1] == shape]
            field = (fit_index(kind, effects[slot], plain, slot) if kind in "rup" else fit_float(effects[slot], near, slot) if kind == "f" else
                     fit_flag(effects[slot], plain, slot, shaping) if kind == "b" else fit_integer(effects[slot], plain, slot))
            if field is not None:
                fields[slot] = field
                if kind in "rp":  # some forms drop what is RZ or PT
                    self.pending += [examples[0][0] | field.used()]
            elif kind in "rupi" and len(examples) > 1:
                # The same text may come from two encodings: the bits that change the number, and its sign, tell them apart.
                parts = collections.defaultdict(list)
                for one in examples:
                    weights = frozenset((bit, (analysis[2][slot][1] - one[1][1][2][slot][1]) * (-1 if one[0] >> bit & 1 else 1) if kind == "i" else 0)
                                        for bit, (_, analysis) in zip(BITS, one[3]) if analysis is not None and analysis[1] == shape
                                        and analysis[2][slot] != one[1][1][2][slot])
                    parts[weights].append(one)
                if 1 < len(parts) <= (4 if kind == "i" else len(examples)):
                    for part in parts.values():
                        self._learn_group(key, part)
                    return
        # A bit that changes two slots has to be a part of both.
        while True:
            wrong = [slot for slot, field in fields.items()
                     for bit in touched if field.used() >> bit & 1 and any(s not in fields or not fields[s].used() >> bit & 1 for s in touched[bit])]
            if not wrong:
                break
            del fields[wrong[0]]
        self._make_rows(opcode, shape, guard, plain, fields, [bit for bit in BITS if bit not in touched and bit not in shaping and bit not in refused])

    def _make_rows(self, opcode, shape, guard, plain, fields, idle):
        used = 0
        for field in fields.values():
            used |= field.used()
        free = sum(1 << bit for bit in idle) & ~used
        mask = machine_code.TEXT_BITS & ~used & ~free
        mask = mask | GUARD if guard == "-" else mask & ~GUARD
        for value in sorted({word & mask for word, _, _ in plain}):
            mine = [(word, slots) for word, _, slots in plain if word & mask == value]
            literals = {}
            for slot in mine[0][1]:
                if slot in fields:
                    continue
                if any(slots[slot] != mine[0][1][slot] for _, slots in mine):
                    literals = None
                    break
                literals[slot] = mine[0][1][slot][1]
            if literals is None or any(kind == "f" and slot in literals for slot, (kind, _) in mine[0][1].items()):
                continue
            self.rows[opcode].append(Row(opcode, shape, guard, mask, value, fields, literals, free, mine[0][0]))
        self.rows[opcode].sort(key=Row.order)

    def row_of(self, word):
        for row in self.rows[word & OPCODE]:
            if row.claims(word):
                return row
        return None

    def narrow(self, row, word):
        """Has the row no longer claim the word: numbers and idle bits that all words of programs share become fixed."""
        rows = self.rows[row.opcode]
        rows.remove(row)
        key = row.opcode, row.shape
        same = (self.ones.get(key, 0) | self.zeros.get(key, 0)) & machine_code.TEXT_BITS if key in self.ones else 0
        different = (word ^ row.seed) & ~row.mask & ~GUARD
        fields, literals, mask, free = dict(row.fields), dict(row.literals), row.mask, row.free
        for slot, field in row.fields.items():
            if field.used() & different and field.used() & same == field.used() and not field.floating:
                del fields[slot]
                literals[slot] = field.read(row.seed, 0)
                mask |= field.used()
        for field in fields.values():
            mask &= ~field.used()
        if mask == row.mask and different & free:
            mask |= free
            free = 0
        if mask == row.mask:
            return False
        rows.append(Row(row.opcode, row.shape, row.guard, mask, row.seed & mask, fields, literals, free, row.seed))
        rows.sort(key=Row.order)
        return True

    def check(self, words):
        """Compares words with the table and mends it; returns how many were read wrong and what is not in it."""
        wrong, lacking = [], []
        for word, (place, analysis) in zip(words, self.read(words)):
            if analysis is None:
                continue
            row = self.row_of(word)
            if row is None:
                lacking.append((word, analysis))
            elif not row.reads(word, place, *analysis):
                wrong.append((word, place, analysis))
                self.confused[row.shape, analysis[1]] += 1
        # Some were not known to be forms of their own, or words of their form were too much alike.
        new = collections.Counter()
        for word, place, analysis in wrong:
            key = word & OPCODE, analysis[1]
            new[key] += 1
            if new[key] <= 3 and not any(row.claims(word) and row.reads(word, place, *analysis) for row in self.rows[key[0]]):
                self.groups[key].append(word)
            else:
                new[key] -= 1
        self.learn_groups([key for key, count in new.items() if count])
        for word, place, analysis in wrong:
            for _ in range(8):
                row = self.row_of(word)
                if row is None or row.reads(word, place, *analysis):
                    break
                if not self.narrow(row, word):
                    self.dropped.append((row.shape, row.text(), analysis[1], f"{word:032x}"))
        return len(wrong), lacking

    def random_check(self, count):
        words = [row.random_word() for rows in self.rows.values() for row in rows for _ in range(count)]
        return len(words), *self.check(words)

    def size(self):
        return sum(map(len, self.rows.values()))


def words_of(files, architecture):
    words = set()
    for file in files:
        if file.endswith(".bin"):
            data = pathlib.Path(file).read_bytes()
            words.update(high << 64 | low for low, high in struct.iter_unpack("<QQ", data))
        else:
            for cubin in machine_code.cubins_of(file):
                if machine_code.architecture_of(cubin) == architecture:
                    words.update(word & machine_code.TEXT_BITS for word in machine_code.code_of(cubin))
    return sorted(words)


def merge(files, output):
    """One table out of those of several architectures: "#mask guard operands fields" and, of each, "architectures value opcode numbers"."""
    rows = collections.defaultdict(set)
    for file in files:
        for line in pathlib.Path(file).read_text().splitlines():
            architecture, mask, value, guard, shape, fields, literals = line.split("\t")
            opcode, _, operands = shape.partition(" ")
            rows[(mask, guard, operands, fields), (int(value, 16), opcode, literals)].add(int(architecture))
    forms = collections.defaultdict(list)
    for (form, row), architectures in rows.items():
        forms[form].append((*row, ",".join(map(str, sorted(architectures)))))
    order = sorted(forms, key=lambda form: (min(row[0] & OPCODE for row in forms[form]), -bin(int(form[0], 16)).count("1"), form))
    with output.open("w") as file:
        file.write("// Made by scripts/sass/learn_decode_table.py. Of each form, mask, guard, operands and fields; then its rows: architectures,\n"
                   "// value, opcode and numbers that are no fields.\n")
        for form in order:
            lines = ["#" + "\t".join(form)]
            lines += ["\t".join([architectures, f"{value:x}", opcode] + ([literals] if literals else [])) for value, opcode, literals, architectures in sorted(forms[form])]
            for begin in range(0, len(lines), 100):
                file.write('R"(' + "\n".join(lines[begin:begin + 100]) + '\n)"\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--architecture", type=int)
    parser.add_argument("--rounds", type=int, default=1, help="how often forms that one bit leads to are learnt")
    parser.add_argument("--samples", type=int, default=3, help="words of each form whose bits are changed")
    parser.add_argument("--forms", type=int, default=300, help="at most so many new forms of an opcode in a round")
    parser.add_argument("--start", type=pathlib.Path, help="rows of a related architecture, in place of learning from nothing")
    parser.add_argument("--checks", type=int, default=6, help="how often random words of all rows are compared")
    parser.add_argument("--merge", action="store_true", help="the files are tables of this script, which become one")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.merge:
        return merge(options.files, options.output)
    random.seed(options.architecture)
    learner = Learner(options.architecture, options.nvdisasm, options.samples)

    def say(*what):
        print(options.architecture, *what, file=sys.stderr, flush=True)

    words = words_of(options.files, options.architecture)
    learner.add(words)
    say(len(words), "words,", len(learner.groups), "forms")
    if options.start:
        for line in options.start.read_text().splitlines():
            row = Row.of_text(line.partition("\t")[2])
            row.given = True
            learner.rows[row.opcode].append(row)
        for rows in learner.rows.values():
            rows.sort(key=Row.order)
    else:
        learner.learn_groups(learner.groups)
    say(learner.size(), "rows")
    for _ in range(options.rounds):
        new, count = [], collections.Counter()
        for key, word in learner.found.items():
            count[key[0]] += 1
            if key not in learner.groups and count[key[0]] <= options.forms:
                learner.groups[key] = [word]
                new.append(key)
        learner.found.clear()
        say(len(new), "forms that one bit leads to")
        learner.learn_groups(new)
        say(learner.size(), "rows")
    for _ in range(options.checks):
        count, wrong, lacking = learner.random_check(8)
        say(count, "random words,", wrong, "read wrong,", len(lacking), "in no row,", learner.size(), "rows")
        if wrong < 10:
            break
    for turn in range(8):
        wrong, lacking = learner.check(words)
        say("programs:", wrong, "read wrong,", len(lacking), "in no row")
        if not lacking and not wrong:
            break
        again = collections.defaultdict(list)
        for word, analysis in lacking:
            again[word & OPCODE, analysis[1]].append(word)
        for key, more in again.items():
            learner.groups[key] += random.sample(more, min(len(more), 6))
        if turn < 6:
            learner.learn_groups(again)
            if options.checks:
                learner.random_check(2)
    if options.checks:
        count, wrong, lacking = learner.random_check(8)
        say(count, "random words,", wrong, "read wrong,", len(lacking), "in no row,", learner.size(), "rows")
    # What that has taken away and programs need comes back: at worst such a row reads words that no program has.
    for _ in range(3):
        wrong, lacking = learner.check(words)
        say("programs:", wrong, "read wrong,", len(lacking), "in no row")
        again = collections.defaultdict(list)
        for word, analysis in lacking:
            again[word & OPCODE, analysis[1]].append(word)
        for key, more in again.items():
            learner.groups[key] += random.sample(more, min(len(more), 6))
        learner.learn_groups(again)
    for pair, number in learner.confused.most_common(60):
        say("confused", number, *pair)
    for one in learner.dropped[:200]:
        say("dropped", *one)
    for text, number in learner.not_understood.most_common(60):
        say("not understood", number, text)
    with options.output.open("w") as file:
        for rows in learner.rows.values():
            for row in rows:
                file.write(f"{options.architecture}\t{row.text()}\n")


if __name__ == "__main__":
    main()
