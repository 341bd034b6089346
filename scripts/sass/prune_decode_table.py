#!/usr/bin/env python3
"""Takes out of a table of learn_decode_table.py each row that reads one of the given words otherwise than nvdisasm.

    prune_decode_table.py --nvdisasm PATH --architecture 80 --table TABLE --output TABLE WORDS.pkl...

What such a row read is then in no table, which is an error and not a wrong instruction.
"""
import argparse
import collections
import pathlib
import pickle
import sys

import learn_decode_table as learner
import machine_code


def value_of(text):
    return int(text)


class TableRow:
    def __init__(self, line):
        parts = line[3:line.rindex(')"')].split("\t")
        self.mask, self.value, self.guard, self.shape = int(parts[1], 16), int(parts[2], 16), parts[3], parts[4]
        self.fields = []
        literal = False
        for one in (parts[5].split() if len(parts) > 5 else []):
            place, _, field = one.partition("=")
            number, _, member = place.partition(".")
            kind, _, rest = field.partition(":")
            if kind == "k":
                self.fields.append(((int(number), member), None, rest))
                literal = literal or (member == "index" and rest not in ("255", "7", "-1"))
            else:
                position, _, width = rest.partition(":")
                self.fields.append(((int(number), member), (kind, int(position), int(width)), None))
        if literal:  # where the mark of reuse stands is not known
            self.mask |= 7 << 122
        if self.guard == "-":
            self.mask |= learner.GUARD
            self.value |= 0x7000
        self.order = (-bin(self.mask).count("1"), self.text(80))

    def text(self, architecture):
        fields = [f"{n}.{m}=" + (f"k:{literal}" if field is None else ":".join(map(str, field))) for (n, m), field, literal in self.fields]
        return f"{self.mask:x}\t{self.value:x}\t{self.guard}\t{self.shape}\t{' '.join(fields)}"

    def reads(self, word, guard, shape, slots):
        if shape != self.shape or (guard and guard != self.guard):
            return False
        seen = set()
        for key, field, literal in self.fields:
            seen.add(key)
            if key not in slots:
                return False
            value = slots[key][1]
            if field is None:
                if str(value) != literal:
                    return False
            elif not learner.agrees(field, word, value):
                return False
        # What the row does not name is off.
        return all(key in seen or (kind == "b" and value == 0) for key, (kind, value) in slots.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--architecture", type=int, required=True)
    parser.add_argument("--table", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("words", nargs="+")
    options = parser.parse_args()
    rows = collections.defaultdict(list)
    for line in options.table.read_text().splitlines():
        if line.startswith('R"('):
            row = TableRow(line)
            rows[row.value & 0xFFF].append(row)
    for one in rows.values():
        one.sort(key=lambda row: row.order)
    words = sorted({word for file in options.words for word in pickle.loads(pathlib.Path(file).read_bytes())})
    examples = []
    for place, (word, text) in enumerate(zip(words, machine_code.disassemble(words, options.architecture, options.nvdisasm))):
        result = learner.analyse(text, place % 20000 * 16) if text else None
        examples.append((word, result))
    dropped, used = 0, set()
    while True:
        wrong, used = set(), set()
        for word, result in examples:
            for row in rows[word & 0xFFF]:
                if word & row.mask == row.value:
                    if result is None or not row.reads(word, *result):
                        wrong.add(id(row))
                    else:
                        used.add(id(row))
                    break
        if not wrong:
            break
        dropped += len(wrong)
        for opcode in rows:
            rows[opcode] = [row for row in rows[opcode] if id(row) not in wrong]
    # A row that reads none of the words has been seen in no program: it goes.
    for opcode in rows:
        rows[opcode] = [row for row in rows[opcode] if id(row) in used]
    read = sum(any(word & row.mask == row.value for row in rows[word & 0xFFF]) for word, _ in examples)
    print(options.architecture, "dropped", dropped, "rows; left", sum(map(len, rows.values())), "that read", read, "of", len(words), "words", file=sys.stderr)
    with options.output.open("w") as file:
        for one in rows.values():
            for row in one:
                file.write(f'R"({options.architecture}\t{row.text(0)})" "\\n"\n')


if __name__ == "__main__":
    main()
