"""Readings of meters, from the files that three makers write."""

import csv
import io
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

GAP_LIMIT = timedelta(hours=3)
ROLLOVER = 1_000_000_000  # a counter of nine digits begins again at zero


class ReadingError(ValueError):
    """A line of a file that is no reading."""

    def __init__(self, line_number, problem):
        super().__init__(f"line {line_number}: {problem}")
        self.line_number = line_number


@dataclass(frozen=True)
class Reading:
    meter: str
    at: datetime
    watt_hours: int

    def used_since(self, earlier):
        """The watt-hours between two readings of one meter."""
        if self.meter != earlier.meter:
            raise ValueError("readings of two meters")
        used = self.watt_hours - earlier.watt_hours
        if used < 0:
            used += ROLLOVER
        return used


def parse_arlo(text):
    """Lines like `A-17;2026-03-01T00:15:00Z;123456`."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        fields = line.split(";")
        if len(fields) != 3:
            raise ReadingError(number, f"{len(fields)} fields, want 3")
        meter, at, value = fields
        yield Reading(meter, _utc(at, number), _whole(value, number))


def parse_bexley(text):
    """CSV with a head; kWh with three decimals."""
    for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=2):
        try:
            kilo, milli = row["kwh"].split(".")
            value = int(kilo) * 1000 + int(milli.ljust(3, "0"))
        except (KeyError, ValueError) as err:
            raise ReadingError(number, f"no kWh: {err}") from err
        yield Reading(row["serial"], _utc(row["time"], number), value)


def parse_corvus(text):
    """One block a meter; each line has minutes since the time of its block."""
    meter = start = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#"):
            _, meter, at = line.split()
            start = _utc(at, number)
        elif line.strip():
            if start is None:
                raise ReadingError(number, "a value before the first block")
            minutes, value = line.split()
            at = start + timedelta(minutes=_whole(minutes, number))
            yield Reading(meter, at, _whole(value, number))


def gaps(readings):
    """Pairs of readings of one meter that are too far apart."""
    last = {}
    for reading in sorted(readings, key=lambda r: (r.meter, r.at)):
        before = last.get(reading.meter)
        if before and reading.at - before.at > GAP_LIMIT:
            yield before, reading
        last[reading.meter] = reading


def _utc(text, number):
    try:
        at = datetime.fromisoformat(text)
    except ValueError as err:
        raise ReadingError(number, str(err)) from err
    if at.tzinfo is None:
        raise ReadingError(number, "a time without a zone")
    return at.astimezone(timezone.utc)


def _whole(text, number):
    if not text.strip().isdigit():
        raise ReadingError(number, f"{text!r} is no whole number")
    return int(text)
