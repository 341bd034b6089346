#!/usr/bin/env python3
"""Counts the public declarations of headers that have a comment, and lists those that have none.

    scripts/documented.py                         # a table by room
    scripts/documented.py --missing models/gpu    # file, line and name of every declaration without a comment

Types, functions and data members count, as far as they are public. A comment belongs to a declaration when it stands above
it, or behind it on one of its lines, or below it as `///<`. A comment above several declarations without a blank line between
them belongs to all of them. Constructors, destructors, deleted and defaulted functions, operators, overrides, friends,
specialisations, forward declarations and definitions outside their class do not count. The reader of C++ is a simple one: it
knows namespaces, types, functions and members, and skips bodies and initial values.
"""
import argparse
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["isa", "models", "workloads", "sim", "validation", "driver"]
KINDS = ["types", "functions", "members"]

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<preprocessor>^[ \t]*\#(?:\\\n|[^\n])*)|(?P<space>\s+)'
    r'|(?P<string>R"(?P<mark>[^(]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\')'
    r"|(?P<number>\d(?:'?[\w.])*)|(?P<word>\w+)|(?P<other>::|->|.)", re.S | re.M)
NOT_A_NAME = {"requires", "noexcept", "alignas", "decltype", "explicit", "if", "sizeof", "__attribute__"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Lines:
    """What stands on each line of a file: code, a comment, a comment of the line above, or nothing."""

    def __init__(self):
        self.code, self.comment, self.continued, self.directive = set(), set(), set(), set()

    def has_own_comment(self, line):
        return line in self.comment and line not in self.code and line not in self.continued

    def is_blank(self, line):
        return not any(line in kind for kind in (self.code, self.comment, self.continued))


def tokenize(text):
    tokens, lines, line = [], Lines(), 1
    for match in TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if match.group("string"):
            kind = "string"
        last = line + value.count("\n")
        if kind == "comment":
            if "clang-format" not in value and "NOLINT" not in value:
                kind_of_line = lines.continued if value.startswith("///<") else lines.comment
                kind_of_line.update(range(line, last + 1))
            else:
                lines.continued.add(line)
        elif kind == "preprocessor":
            lines.directive.update(range(line, last + 1))
        elif kind != "space":
            lines.code.update(range(line, last + 1))
            tokens.append((value, kind, line))
        line = last
    # A comment that goes on from behind a declaration belongs to that declaration.
    text_lines = text.split("\n")

    def indent(at):
        return len(text_lines[at - 1]) - len(text_lines[at - 1].lstrip())

    for number in sorted(lines.comment | lines.continued):
        if number in lines.code:
            continue
        before = number - 1
        if before in lines.code and (before in lines.comment or before in lines.continued):
            column = max(text_lines[before - 1].rfind("//"), 0)
            while column > 0 and text_lines[before - 1][column - 1] == "/":
                column -= 1
            if abs(indent(number) - column) <= 1:
                lines.comment.discard(number)
                lines.continued.add(number)
        elif before in lines.continued and before not in lines.code and indent(number) == indent(before):
            lines.comment.discard(number)
            lines.continued.add(number)
    return tokens, lines


class Reader:
    def __init__(self, text):
        self.tokens, self.lines = tokenize(text)
        self.at = 0
        self.found = []  # (kind, name, line, documented)

    def skip_bracket(self):
        """From an opening bracket to behind the closing one."""
        depth = 0
        while self.at < len(self.tokens):
            value = self.tokens[self.at][0]
            self.at += 1
            if value in CLOSING:
                depth += 1
            elif value in CLOSING.values():
                depth -= 1
                if depth == 0:
                    return

    def read_scope(self, type_name, public, visible=True):
        """Declarations up to the closing brace of a namespace or type; `type_name` is None in a namespace. Nothing in a
        scope that is not `visible` is public."""
        covered, previous = False, self.tokens[self.at - 1][2] if self.at else 0
        while self.at < len(self.tokens):
            value, _, line = self.tokens[self.at]
            if value == "}":
                self.at += 1
                return
            if value in ("public", "private", "protected") and self.tokens[self.at + 1][0] == ":":
                public = visible and value == "public"
                self.at += 2
                covered, previous = False, line
                continue
            # The comment of the group this declaration belongs to.
            for number in range(previous + 1, line):
                if self.lines.is_blank(number) or number in self.lines.directive:
                    covered = False
                elif self.lines.has_own_comment(number):
                    covered = True
            self.read_declaration(type_name, public, covered)
            previous = self.tokens[self.at - 1][2]

    def read_declaration(self, type_name, public, covered):
        start, head = self.tokens[self.at][2], []
        while self.at < len(self.tokens):
            value = self.tokens[self.at][0]
            if not head and value.isupper() and len(value) > 1 and self.tokens[self.at + 1][0] == "(":
                self.at += 1  # a macro that declares something
                self.skip_bracket()
                if self.tokens[self.at][0] == ";":
                    self.at += 1
                return
            if value == "template" and not head:
                self.at += 1
                self.skip_angles()
            elif (value, self.tokens[self.at + 1][0]) in (("[", "["), ("alignas", "(")):
                self.at += value == "alignas"
                self.skip_bracket()
            elif value in ("(", "["):
                first = self.at
                self.skip_bracket()
                head.extend(self.tokens[first:self.at])
            elif value == ";":
                self.at += 1
                break
            elif value == "{":
                words = plain(head)
                if "namespace" in words or (words[:1] == ["extern"] and "(" not in words):
                    self.at += 1
                    self.read_scope(None, True)
                    return
                if is_type(words):
                    self.read_type(words, start, type_name, public, covered)
                    head = []
                    if self.tokens[self.at][0] == ";":
                        self.at += 1
                        return
                    start = self.tokens[self.at][2]
                    continue
                outside = plain(outside_brackets(head))
                initializes_member = ":" in outside and words[-1] not in (")", "}", ">")
                is_body = "operator" in words or (
                    function_name(head) and "=" not in outside and not initializes_member)
                self.skip_bracket()
                head.append(("}", "other", self.tokens[self.at - 1][2]))
                if is_body and self.tokens[self.at][0] not in (",", "{"):
                    break
            else:
                head.append(self.tokens[self.at])
                self.at += 1
        if public and head:
            self.record(head, start, type_name, covered)

    def skip_angles(self):
        depth = 0
        while self.at < len(self.tokens):
            value = self.tokens[self.at][0]
            if value in ("(", "{"):
                self.skip_bracket()
                continue
            self.at += 1
            depth += (value == "<") - (value == ">")
            if depth == 0:
                return

    def read_type(self, words, start, type_name, public, covered):
        keyword = next(word for word in words if word in ("struct", "class", "union", "enum"))
        rest = [word for word in words[words.index(keyword) + 1:] if word not in ("class", "struct", "final")]
        name = rest[0] if rest and rest[0] != ":" else None
        opening = self.tokens[self.at][2]
        if name and public and rest[1:2] not in (["<"], ["::"]):
            behind = any(self.behind(line) for line in range(start, opening + 1))
            self.found.append(("types", name, start, covered or behind))
        if keyword == "enum":
            self.skip_bracket()
        else:
            self.at += 1
            self.read_scope(name or "", public and keyword != "class", public)

    def behind(self, line):
        return line in self.lines.code and (line in self.lines.comment or line in self.lines.continued)

    def record(self, head, start, type_name, covered):
        words = plain(head)
        end = self.tokens[self.at - 1][2]
        documented = (covered or any(self.behind(line) for line in range(start, end + 1))
                      or (end + 1 in self.lines.continued and end + 1 not in self.lines.code))
        if words[0] in ("friend", "static_assert", "namespace"):
            return
        if words[0] in ("using", "typedef"):
            if words[0] == "typedef" or "=" in words:
                name = words[1] if words[0] == "using" else words[-1]
                self.found.append(("types", name, start, documented))
            return
        if "operator" in words:
            return
        name = function_name(head)
        if name:
            specifiers = words[words.index(name):]
            left_out = (name == type_name or name.isupper() or "~" in words or "override" in specifiers or "final" in specifiers
                        or words[-2:] in (["=", "delete"], ["=", "default"])
                        or words[words.index(name) - 1] == "::" and self.is_defined_outside(words, name))
            if not left_out:
                self.found.append(("functions", name, start, documented))
        elif type_name is not None and not (words[0] in ("struct", "class", "union", "enum") and len(words) <= 3):
            for declarator in declarators(head):
                self.found.append(("members", declarator[0], declarator[1], documented))

    @staticmethod
    def is_defined_outside(words, name):
        return words[words.index(name) - 2][0].isalpha()


def plain(head):
    return [value for value, _, _ in head]


def is_type(words):
    """Whether what stands before a brace begins the body of a class, struct, union or enum."""
    return any(word in ("struct", "class", "union", "enum") for word in words) and "(" not in words and "=" not in words


def outside_brackets(head):
    """The tokens that stand in no brackets, those of templates included, with `(` for a pair of parentheses."""
    depth, result, before = 0, [], ""
    for token in head:
        value = token[0]
        if value == "=" and depth == 0:
            result.append(token)
            break
        if value in ("(", "[", "{") or (value == "<" and before not in ("", "operator")):
            if depth == 0 and value == "(":
                result.append(token)
            depth += 1
        elif value in (")", "]") or (value == "}" and depth) or value == ">":
            depth = max(depth - 1, 0)
        elif depth == 0:
            result.append(token)
        before = value
    return result


def function_name(head):
    before = None
    for value, kind, _ in outside_brackets(head):
        if value == "(":
            if before and before[1] == "word" and before[0] not in NOT_A_NAME:
                index = plain(head).index(before[0])
                following = plain(head)[index + 1:index + 3]
                return None if following == ["(", "*"] and before[0] in ("void", "int", "bool") else before[0]
        elif value == "=":
            return None
        before = (value, kind)
    return None


def declarators(head):
    """Name and line of every member that one declaration declares."""
    groups, depth, group = [], 0, []
    for token in head:
        value = token[0]
        if value in ("(", "[", "<"):
            depth += 1
        elif value in (")", "]", ">"):
            depth = max(depth - 1, 0)
        if value == "," and depth == 0:
            groups.append(group)
            group = []
        else:
            group.append(token)
    names = []
    for tokens in groups + [group]:
        pointer = re.search(r"\( \* (\w+)", " ".join(plain(tokens)))
        names_here = [t for t in outside_brackets(tokens) if t[1] == "word"]
        colon = plain(outside_brackets(tokens))
        if pointer:
            names.append((pointer.group(1), tokens[0][2]))
        elif ":" in colon:  # a bit field
            names.append((colon[colon.index(":") - 1], tokens[0][2]))
        elif names_here:
            names.append((names_here[-1][0], names_here[-1][2]))
    return names


def declarations(path):
    reader = Reader(path.read_text())
    while reader.at < len(reader.tokens):
        reader.read_scope(None, True)
    return reader.found


def headers(folder):
    return sorted((ROOT / folder).rglob("*.h"))


def print_table():
    print(f"{'room':<12}" + "".join(f"{kind + ' with comment':>26}" for kind in KINDS) + f"{'all':>22}")
    for room in ROOMS:
        total, documented = Counter(), Counter()
        for path in headers(room):
            for kind, _, _, has_comment in declarations(path):
                total[kind] += 1
                documented[kind] += has_comment
        cells = [f"{documented[kind]} of {total[kind]}" for kind in KINDS]
        everything = sum(total.values())
        share = 100 * sum(documented.values()) / max(everything, 1)
        print(f"{room:<12}" + "".join(f"{cell:>26}" for cell in cells)
              + f"{f'{sum(documented.values())} of {everything}, {share:.1f} %':>22}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--missing", metavar="FOLDER", help="list the declarations of a folder that have no comment")
    arguments = parser.parse_args()
    if arguments.missing is None:
        print_table()
        return 0
    count = 0
    for path in headers(arguments.missing):
        for kind, name, line, has_comment in declarations(path):
            if not has_comment:
                count += 1
                print(f"{path.relative_to(ROOT)}:{line}: {name} ({kind[:-1]})")
    print(f"{count} without a comment")
    return 0


if __name__ == "__main__":
    sys.exit(main())
