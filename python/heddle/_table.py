"""What is a table where pandas is not installed?"""

from __future__ import annotations

import html
from typing import Any, Dict, Iterator, List, Sequence, Union, overload


class Table(Sequence[Dict[str, Any]]):
    """Rows with named columns: what a data frame is where pandas is not installed.

    ``table["name"]`` is a column as a list, ``table[0]`` a row as a dict, and iteration gives rows.
    """

    def __init__(self, rows: Sequence[Dict[str, Any]]) -> None:
        self._rows = list(rows)

    @property
    def columns(self) -> List[str]:
        """The names of all columns, in the order in which rows name them."""
        names: Dict[str, None] = {}
        for row in self._rows:
            names.update(dict.fromkeys(row))
        return list(names)

    @overload
    def __getitem__(self, key: str) -> List[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Table": ...
    def __getitem__(self, key: Union[str, int, slice]) -> Any:
        if isinstance(key, str):
            if key not in self.columns:
                raise KeyError(key)
            return [row.get(key) for row in self._rows]
        return Table(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._rows)

    def sort_values(self, by: str, ascending: bool = True) -> "Table":
        """Returns the rows sorted by a column; what is None comes last."""
        if by not in self.columns:
            raise KeyError(by)
        known = [row for row in self._rows if row.get(by) is not None]
        unknown = [row for row in self._rows if row.get(by) is None]
        return Table(sorted(known, key=lambda row: row[by], reverse=not ascending) + unknown)

    def __repr__(self) -> str:
        names = self.columns
        cells = [names] + [[_shown(row.get(name)) for name in names] for row in self._rows]
        widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells)

    def _repr_html_(self) -> str:
        names = self.columns
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(row.get(name)))}</td>" for name in names) + "</tr>" for row in self._rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def table(rows: Sequence[Dict[str, Any]]) -> Any:
    """Returns a pandas.DataFrame, or a Table where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return Table(rows)
    return pandas.DataFrame(list(rows))
