"""Adds up what a meter used, and prints a bill."""

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from zoneinfo import ZoneInfo

from . import readings, tariff

PARSERS = {".arlo": readings.parse_arlo, ".csv": readings.parse_bexley, ".crv": readings.parse_corvus}
ZONE = ZoneInfo("Europe/Lisbon")
WIDTH = 48


def usage(all_readings):
    """Watt-hours by meter, day and hour; each pair counts where it begins."""
    used = defaultdict(lambda: defaultdict(lambda: [0] * 24))
    last = {}
    for reading in sorted(all_readings, key=lambda r: (r.meter, r.at)):
        before = last.get(reading.meter)
        if before:
            day = before.at.date()
            used[reading.meter][day][before.at.hour] += reading.used_since(before)
        last[reading.meter] = reading
    return used


def total(days, plan):
    """Millicents for the days of one meter."""
    amount = 0
    for day, hours in sorted(days.items()):
        amount += plan.standing
        free = plan.free_watt_hours
        for hour, watt_hours in enumerate(hours):
            charged = max(0, watt_hours - free)
            free = max(0, free - watt_hours)
            season = plan.winter if day.month in tariff.WINTER_MONTHS else plan.summer
            amount += tariff.charge(charged, season.at(hour))
    return amount


def line(label, value):
    return f"{label:<{WIDTH - 14}}{value:>14}"


def euros(millicents):
    cents = millicents // tariff.MILLICENTS_PER_CENT
    return f"{cents // 100}.{cents % 100:02d} EUR"


def bill(meter, days, plan):
    """The lines of a bill."""
    kwh = sum(map(sum, days.values())) / 1000
    first, last = min(days), max(days)
    yield line("Meter", meter)
    yield line("From", first.isoformat())
    yield line("To", last.isoformat())
    yield line("Tariff", plan.name)
    yield line("Used", f"{kwh:.3f} kWh")
    yield line("Standing", euros(plan.standing * len(days)))
    yield "-" * WIDTH
    yield line("Total", euros(total(days, plan)))


def main(args=None):
    parser = argparse.ArgumentParser(prog="meters.bill")
    parser.add_argument("file", type=Path)
    parser.add_argument("--tariff", choices=sorted(tariff.TARIFFS), default="flat")
    options = parser.parse_args(args)
    parse = PARSERS.get(options.file.suffix)
    if parse is None:
        parser.error(f"{options.file}: no parser for {options.file.suffix or 'a file without a suffix'}")
    try:
        found = list(parse(options.file.read_text(encoding="utf-8")))
    except readings.ReadingError as err:
        print(f"{options.file}: {err}", file=sys.stderr)
        return 1
    for before, after in readings.gaps(found):
        print(f"{before.meter}: nothing from {before.at} to {after.at}", file=sys.stderr)
    for meter, days in sorted(usage(found).items()):
        print("\n".join(bill(meter, days, tariff.TARIFFS[options.tariff])), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
